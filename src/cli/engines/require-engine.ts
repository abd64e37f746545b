import { formatDuration } from '../../base/durations.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { CATALOG } from '../../models/catalog.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { CommandContext } from '../command-context.ts'
import { WaitingNote } from '../render/waiting.ts'
import { enginePackage, INSTALLABLE_ENGINES, installedVersion, type EnginePackage } from './engine-package.ts'
import { installEngine } from './install-engine.ts'

/** What runs GGUF files when a model names no engine. */
const DEFAULT_ENGINE = 'node-llama-cpp'

export interface InstallWishes {
  /** False with `--no-install`. */
  install?: boolean
  verbose?: boolean
}

/**
 * Makes sure an engine is there: installs it on first use, never in silence. @returns whether anything was installed
 * @throws ModelyardError `engine_missing` when it is not and must not be installed
 */
export async function requireEngine(
  context: CommandContext,
  enginesFolder: string,
  engine: EnginePackage,
  wishes: InstallWishes,
): Promise<boolean> {
  const present = installedVersion(enginesFolder, engine)
  if (present === engine.version) return false
  if (wishes.install === false) throw missing(engine, present)
  await installLoudly(context, enginesFolder, engine, wishes.verbose === true)
  return true
}

/** The same for the engines that these models run on, as far as they are packages. Ids that nobody configured are files of the default engine. */
export async function requireEnginesOf(
  context: CommandContext,
  { directories, models }: YardConfiguration,
  ids: readonly string[],
  wishes: InstallWishes,
): Promise<void> {
  const specOf = new Map(models.map((spec) => [spec.id, spec]))
  const names = new Set(ids.map((id) => engineNameOf(id, specOf.get(id))))
  for (const name of INSTALLABLE_ENGINES) {
    if (names.has(name)) await requireEngine(context, directories.engines, enginePackage(name), wishes)
  }
}

function engineNameOf(id: string, spec: ModelSpec | undefined): string {
  const entry = spec?.source ?? id
  const known = Object.hasOwn(CATALOG, entry) ? CATALOG[entry]?.spec.engine : undefined
  return spec?.engine ?? known ?? DEFAULT_ENGINE
}

async function installLoudly(
  context: CommandContext,
  enginesFolder: string,
  engine: EnginePackage,
  verbose: boolean,
): Promise<void> {
  const { err, clock, signal } = context
  const begun = clock.now()
  await err.line(
    `Installing the engine ${engine.name} ${engine.version} into ${enginesFolder} (${engine.size}, only this once) …`,
  )
  let fetched = 0
  const words = (): string =>
    `installing ${engine.name}: ${fetched} packages asked for, ${formatDuration(clock.now() - begun)}`
  const note = new WaitingNote(err, clock, () => Promise.resolve(words()), { logEvery: 5000 })
  const onLine = (line: string): void => {
    if (line.includes('http fetch')) fetched++
    if (verbose) void err.line(line)
  }
  try {
    await installEngine(enginesFolder, engine, { signal, onLine })
  } finally {
    await note.stop()
  }
  await err.line(`Installed ${engine.name} ${engine.version} in ${formatDuration(clock.now() - begun)}.`)
}

function missing(engine: EnginePackage, present: string | undefined): ModelyardError {
  const found = present === undefined ? 'is not installed' : `is installed as ${present}`
  return new ModelyardError(
    'engine_missing',
    `The engine ${engine.name} ${engine.version} ${found}. Install it: modelyard engines install ${engine.name}`,
  )
}
