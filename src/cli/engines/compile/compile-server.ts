import { chmod, copyFile, readFile, rename, rm, stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { HostMemoryProbe } from '../../../host/memory-probe.ts'
import { runCommand } from '../../../host/run-command.ts'
import type { InstallOptions } from '../install-engine.ts'
import { buildFailure } from './build-failure.ts'
import { buildJobs } from './build-jobs.ts'
import { countedOn, stepsDone } from './build-progress.ts'
import type { BuildTools } from './build-tools.ts'
import { completeTools, openToolChest } from './prepare-tools.ts'
import { findServerSource, type ServerSource } from './server-source.ts'
import { openWorkshop } from './workshop.ts'

export interface CompileWishes extends InstallOptions {
  /** Files to compile at once. Default: as cores and free memory allow. */
  jobs?: number
  /** Definitions for CMake beside our own, for example `GGML_CUDA=ON`. */
  settings?: readonly string[]
}

/** Only the server, with nothing to be found at run time, and nothing that is fetched while it is built: its page, TLS. */
const SETTINGS = [
  'CMAKE_BUILD_TYPE=Release',
  'GGML_NATIVE=ON',
  'BUILD_SHARED_LIBS=OFF',
  'LLAMA_OPENSSL=OFF',
  'LLAMA_BUILD_TESTS=OFF',
  'LLAMA_BUILD_EXAMPLES=OFF',
  'LLAMA_BUILD_APP=OFF',
  'LLAMA_BUILD_TOOLS=ON',
  'LLAMA_BUILD_SERVER=ON',
  'LLAMA_BUILD_UI=OFF',
  'LLAMA_USE_PREBUILT_UI=OFF',
]

/** One compilation: where it is done and what with. */
interface Build {
  folder: string
  tools: BuildTools
  jobs: number
  settings: readonly string[]
  options: CompileWishes
}

/**
 * Compiles llama-server for this very processor, from the source that the installed node-llama-cpp carries, into the folder `draft`. Nothing is
 * fetched but tools that the machine lacks. What is compiled stays for the next try when it ends early.
 * @throws ModelyardError `engine_missing`, `insufficient_memory`, `disk_full` with the last lines; `aborted`
 */
export async function compileServer(
  enginesFolder: string,
  draft: string,
  options: CompileWishes,
): Promise<ServerSource> {
  const source = await findServerSource(enginesFolder)
  const chest = await openToolChest(options.signal)
  const settings = [...SETTINGS, ...(options.settings ?? [])]
  const workshop = await openWorkshop(enginesFolder, await identityOf(source, settings))
  try {
    const { folder } = workshop
    const tools = await completeTools(chest, join(folder, 'tools'), options)
    const build: Build = { folder, tools, jobs: options.jobs ?? jobsHere(), settings, options }
    await unpack(build, source)
    await configure(build)
    await compile(build)
    await copyProgram(build, draft)
    await workshop.remove()
  } finally {
    workshop.release()
  }
  return source
}

/** What must be the same for a compilation to go on. */
async function identityOf({ bundle, release }: ServerSource, settings: readonly string[]): Promise<string> {
  const { size, mtimeMs } = await stat(bundle)
  return JSON.stringify({ release, size, changed: Math.trunc(mtimeMs), settings })
}

function jobsHere(): number {
  const available = new HostMemoryProbe().read().ram?.available
  return buildJobs({ cores: availableParallelism(), available })
}

/** It has its name only when it is whole. */
async function unpack(build: Build, { bundle, release = 'llama.cpp' }: ServerSource): Promise<void> {
  const source = join(build.folder, 'source')
  if ((await stat(source).catch(() => undefined)) !== undefined) return
  const half = `${source}.half`
  await rm(half, { recursive: true, force: true })
  build.options.onLine?.(`unpacking ${release}`)
  await step(build, 'unpack', [build.tools.git, 'clone', '--quiet', bundle, half])
  await rename(half, source)
}

async function configure(build: Build): Promise<void> {
  const { folder, tools, settings } = build
  const generator = tools.maker && (tools.maker.kind === 'ninja' ? 'Ninja' : 'Unix Makefiles')
  build.options.onLine?.('configuring it for this processor')
  await step(build, 'configure', [
    tools.cmake,
    '-S',
    join(folder, 'source'),
    '-B',
    join(folder, 'build'),
    ...(generator === undefined ? [] : ['-G', generator]),
    ...(tools.maker === undefined ? [] : [`-DCMAKE_MAKE_PROGRAM=${tools.maker.path}`]),
    ...settings.map((setting) => `-D${setting}`),
  ])
}

/** Ninja and make are started without CMake between: it would not hand an abort on to them. */
async function compile(build: Build): Promise<void> {
  const { folder, tools, jobs } = build
  const place = join(folder, 'build')
  const target = 'llama-server'
  build.options.onLine?.(`compiling ${jobs === 1 ? 'one file' : `${jobs} files`} at a time`)
  const line =
    tools.maker === undefined
      ? [tools.cmake, '--build', place, '--config', 'Release', '--target', target, '-j', String(jobs)]
      : [tools.maker.path, '-C', place, '-j', String(jobs), target]
  const before = stepsDone(await readFile(join(place, '.ninja_log'), 'utf8').catch(() => ''))
  const onLine = (text: string): void => build.options.onLine?.(countedOn(text, before))
  await step({ ...build, options: { ...build.options, onLine } }, 'compile', line)
}

async function step(
  { folder, jobs, options }: Build,
  what: string,
  [command = '', ...args]: string[],
): Promise<void> {
  const { signal, onLine } = options
  const outcome = await runCommand({
    command,
    args,
    signal,
    background: true,
    onLine: (line) => onLine?.(line),
  })
  if (outcome.code !== 0) throw buildFailure({ what, jobs, folder }, outcome)
}

/** Compilers of Microsoft put it into a folder more. */
async function copyProgram({ folder }: Build, draft: string): Promise<void> {
  const isWindows = process.platform === 'win32'
  const name = isWindows ? 'llama-server.exe' : 'llama-server'
  const made = join(folder, 'build', 'bin', name)
  const isThere = (await stat(made).catch(() => undefined)) !== undefined
  await copyFile(isThere ? made : join(folder, 'build', 'bin', 'Release', name), join(draft, name))
  await chmod(join(draft, name), 0o755)
}
