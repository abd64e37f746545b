import { chmod, copyFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { findExecutable } from '../../host/executables.ts'
import { runCommand } from '../../host/run-command.ts'
import type { InstallOptions } from './install-engine.ts'

/** Only the server, bound to this processor, with nothing to be found at run time. */
const SETTINGS = [
  'CMAKE_BUILD_TYPE=Release',
  'GGML_NATIVE=ON',
  'BUILD_SHARED_LIBS=OFF',
  'LLAMA_CURL=OFF',
  'LLAMA_OPENSSL=OFF',
  'LLAMA_BUILD_TESTS=OFF',
  'LLAMA_BUILD_EXAMPLES=OFF',
  'LLAMA_BUILD_TOOLS=ON',
  'LLAMA_BUILD_SERVER=ON',
]

/**
 * Compiles llama-server from the source that the installed node-llama-cpp carries (10 minutes on two cores), without the internet.
 * @throws ModelyardError `engine_missing` with the last lines
 */
export async function compileServer(
  enginesFolder: string,
  draft: string,
  options: InstallOptions,
): Promise<void> {
  requireTools()
  const carrier = join(enginesFolder, 'node-llama-cpp', 'node_modules', 'node-llama-cpp', 'llama')
  const bundle = join(carrier, 'gitRelease.bundle')
  await stat(bundle).catch(() => {
    throw missing(
      'its source is in node-llama-cpp, which is not installed. First: modelyard engines install node-llama-cpp',
    )
  })
  const work = await mkdtemp(join(tmpdir(), 'modelyard-compile-'))
  try {
    const source = join(work, 'llama.cpp')
    await step('unpack', ['git', 'clone', '--quiet', bundle, source, ...(await branchOf(carrier))], options)
    const build = join(work, 'build')
    const generator = findExecutable('ninja') === undefined ? [] : ['-G', 'Ninja']
    const settings = SETTINGS.map((setting) => `-D${setting}`)
    await step('configure', ['cmake', '-S', source, '-B', build, ...generator, ...settings], options)
    const jobs = String(availableParallelism())
    await step('compile', ['cmake', '--build', build, '--target', 'llama-server', '-j', jobs], options)
    await copyFile(join(build, 'bin', 'llama-server'), join(draft, 'llama-server'))
    await chmod(join(draft, 'llama-server'), 0o755)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function requireTools(): void {
  const absent = ['git', 'cmake'].filter((tool) => findExecutable(tool) === undefined)
  const compiler = ['c++', 'g++', 'clang++'].some((tool) => findExecutable(tool) !== undefined)
  const all = compiler ? absent : [...absent, 'a C++ compiler']
  if (all.length > 0)
    throw missing(`compiling it needs ${all.join(', ')}. Install what is missing and try again`)
}

/** The tag that the package was built from. */
async function branchOf(carrier: string): Promise<string[]> {
  try {
    const text = await readFile(join(carrier, 'binariesGithubRelease.json'), 'utf8')
    const { release } = JSON.parse(text) as { release?: string }
    return release === undefined ? [] : ['--branch', release]
  } catch {
    return []
  }
}

async function step(what: string, [command = '', ...args]: string[], options: InstallOptions): Promise<void> {
  const outcome = await runCommand({
    command,
    args,
    signal: options.signal,
    onLine: (line) => options.onLine?.(line),
  })
  if (outcome.code === 0) return
  throw new ModelyardError(
    'engine_missing',
    `llama-server could not be compiled: ${command} failed to ${what} it with exit code ${outcome.code}. Look at its last lines.`,
    { details: { logTail: outcome.logTail } },
  )
}

function missing(why: string): ModelyardError {
  return new ModelyardError('engine_missing', `llama-server cannot be compiled: ${why}.`)
}
