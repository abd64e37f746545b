import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '../..')
/** Installing ten wheels takes 10 s on a quiet machine; a machine without an index gives up at once. */
const DEADLINE = 150_000

/** A Python with packages, or why there is none. */
export type PythonEnvironment = { python: string } | { missing: string }

/**
 * An environment of its own with exactly these packages, kept under `.cache/python`. Packages come from the index that this machine's pip is
 * configured for.
 */
export async function pythonEnvironment(requirements: string[]): Promise<PythonEnvironment> {
  const name = createHash('sha256').update(requirements.join(' ')).digest('hex').slice(0, 12)
  const folder = join(ROOT, '.cache/python', name)
  const python = join(folder, 'bin/python')
  if (existsSync(python)) return { python }
  const half = `${folder}.${process.pid}`
  try {
    await run('python3', ['-m', 'venv', '--without-pip', half], { timeout: DEADLINE })
    await install(join(half, 'bin/python'), requirements)
    // Only a whole one gets the name, so that a run that was cut off leaves nothing to stumble over.
    await rename(half, folder)
    return { python }
  } catch (error) {
    if (existsSync(python)) return { python }
    return { missing: (error as Error).message.split('\n').slice(0, 3).join(' ') }
  } finally {
    await rm(half, { recursive: true, force: true })
  }
}

/** With the pip that is there already, if there is one: to unpack another takes as long as the packages do. */
async function install(python: string, requirements: string[]): Promise<void> {
  const pip = await findPip(python)
  // Python compiles what is used when it is used; pip would compile all of it.
  const options = ['--quiet', '--no-compile', '--disable-pip-version-check', '--retries', '1']
  await run(python, [...pip, 'install', ...options, ...requirements], { timeout: DEADLINE })
}

/**
 * @returns how this Python runs a pip: that of `python3` with the program that pip has for running in another environment (since 22.3), or
 * its own. `pip --python` would start that as a further process, which is not ended with it.
 */
async function findPip(python: string): Promise<string[]> {
  const print = 'import pip; print(pip.__path__[0])'
  const found = await run('python3', ['-c', print]).catch(() => ({ stdout: '' }))
  const runner = join(found.stdout.trim(), '__pip-runner__.py')
  if (existsSync(runner)) return [runner]
  await run(python, ['-m', 'ensurepip'], { timeout: DEADLINE })
  return ['-m', 'pip']
}

/** Runs a program of `test/clients/python`. @returns what it told, by name */
export async function runPython(
  { python }: { python: string },
  program: string,
  args: string[],
): Promise<Record<string, unknown>> {
  const path = join(import.meta.dirname, 'python', program)
  // What one program has compiled of the packages, the next one need not.
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '' }
  const { stdout } = await run(python, [path, ...args], { timeout: DEADLINE, env })
  const lines = stdout.trim().split('\n').map((line) => JSON.parse(line) as { name: string; value: unknown })
  return Object.fromEntries(lines.map(({ name, value }) => [name, value]))
} // prettier-ignore
