import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { SystemClock } from '../../base/clock.ts'
import { ArtifactStore } from '../../models/artifact-store.ts'
import { CATALOG } from '../../models/catalog.ts'
import { freeSpace } from '../../models/downloads/disk-space.ts'
import { ModelInspector } from '../../models/inspect-model.ts'
import { formatOfName, formatOfSource } from '../../models/source-format.ts'
import { parseSource } from '../../models/source.ts'
import { engineOfFormat, type FileKind } from '../../runs/engine-of-format.ts'
import type { CommandContext } from '../command-context.ts'
import { WaitingNote } from '../render/waiting.ts'
import type { InstallableEngine } from './installable-engine.ts'
import { INSTALLABLE_ENGINES, installableEngine } from './installable-engines.ts'

/** What runs GGUF files when a model names no engine. */
const DEFAULT_ENGINE = 'node-llama-cpp'

export interface InstallWishes {
  /** False with `--no-install`. */
  install?: boolean
  verbose?: boolean
  /** Compile it, also where there is one that was not compiled from this source with these settings. */
  fromSource?: boolean
  /** Files to compile at once. */
  jobs?: number
  /** Definitions for the compilation. */
  settings?: readonly string[]
  /** With what its models need to see images. */
  vision?: boolean
}

/** What is going to be installed, fetched or compiled. */
interface Recipe {
  version: string
  size: string
  diskBytes: number
}

/**
 * Makes sure an engine is there: installs it on first use, never in silence. @returns whether anything was installed
 * @throws ModelyardError `engine_missing` when it is not and must not be installed, `disk_full` when its disk has too little room,
 * `invalid_request` for one that cannot be compiled and should be
 */
export async function requireEngine(
  context: CommandContext,
  enginesFolder: string,
  engine: InstallableEngine,
  wishes: InstallWishes,
): Promise<boolean> {
  const present = await engine.installed(enginesFolder)
  const isSeeing = await sees(enginesFolder, engine, wishes)
  const isWhole = present !== undefined && engine.suits(present) && isSeeing
  if (isWhole && wishes.fromSource !== true) return false
  if (wishes.install === false) throw missing(engine, present)
  const recipe = await recipeOf(enginesFolder, engine, wishes)
  if (wishes.fromSource === true && (await engine.compiled?.isThere(enginesFolder, wishes.settings ?? [])))
    return false
  await requireRoom(enginesFolder, engine.name, recipe)
  await installLoudly(context, enginesFolder, engine, recipe, wishes)
  return true
}

/** Whether what is there sees, where that is wished. @throws ModelyardError `invalid_request` for engines without such an addition */
async function sees(
  enginesFolder: string,
  { name, vision }: InstallableEngine,
  wishes: InstallWishes,
): Promise<boolean> {
  if (wishes.vision !== true) return true
  if (vision !== undefined) return (await vision.installed(enginesFolder)) === vision.version
  const message = `The engine ${name} has no addition for images; only mlx does. Install it without --vision: modelyard engines install ${name}`
  throw new ModelyardError('invalid_request', message, { details: { param: 'vision' } })
}

async function recipeOf(
  enginesFolder: string,
  engine: InstallableEngine,
  { fromSource = false, vision = false }: InstallWishes,
): Promise<Recipe> {
  if (!fromSource) return vision ? { ...engine, ...engine.vision, version: engine.version } : engine
  const { name, compiled } = engine
  if (compiled === undefined) {
    const message = `The engine ${name} cannot be compiled here; only llama-server can. Install it without --from-source: modelyard engines install ${name}`
    throw new ModelyardError('invalid_request', message, { details: { param: 'from-source' } })
  }
  const { size, diskBytes } = compiled
  return { version: await compiled.version(enginesFolder), size, diskBytes }
}

/** A model of which an engine is asked for. */
export interface NeededModel {
  id: string
  /** Where its files say it already. */
  engine?: string
  /** Somebody named it now: its repository is asked what it has, where only that can tell. */
  named?: boolean
}

/**
 * The same for the engines that these models run on, as far as they are packages. Ids that nobody configured are models of an endpoint where an
 * entry (`lab/*`) stands for them, else files of the default engine, unless what they are is known. @throws what asking a repository failed with, too
 */
export async function requireEnginesOf(
  context: CommandContext,
  configuration: YardConfiguration,
  needed: readonly NeededModel[],
  wishes: InstallWishes,
): Promise<void> {
  const names = new Set<string>()
  for (const model of needed) names.add(await engineNameOf(context, model, configuration))
  for (const name of INSTALLABLE_ENGINES) {
    if (!names.has(name)) continue
    await requireEngine(context, configuration.directories.engines, installableEngine(name), wishes)
  }
}

async function engineNameOf(
  { signal }: CommandContext,
  { id, engine, named = false }: NeededModel,
  { directories, downloads: transfer, models, wildcards = [] }: YardConfiguration,
): Promise<string> {
  const spec =
    models.find((candidate) => candidate.id === id) ??
    wildcards.find((wildcard) => id.startsWith(wildcard.id.slice(0, -1)))
  const source = spec?.source ?? id
  const inCatalog = Object.hasOwn(CATALOG, source) ? CATALOG[source]?.spec.engine : undefined
  const known = spec?.engine ?? inCatalog ?? engine
  if (known !== undefined || spec?.source === undefined) return known ?? DEFAULT_ENGINE
  const store = new ArtifactStore({ folder: directories.models, clock: new SystemClock(), transfer })
  const kind = await kindOfFiles(store, spec.source, named ? signal : undefined)
  return (kind && engineOfFormat(kind)) ?? DEFAULT_ENGINE
}

/** By the files where they are here, else by what is said of them; the hub is asked with a `signal` only. */
async function kindOfFiles(
  store: ArtifactStore,
  source: string,
  signal: AbortSignal | undefined,
): Promise<FileKind | undefined> {
  const path = await store.locate(source)
  // What else stands in a GGUF file makes no difference here, and a server may have hundreds when it starts.
  const format = formatOfName(path)
  if (format !== undefined) return { format }
  if (path !== undefined) return await new ModelInspector().inspect(path).catch(() => undefined)
  const told = signal ? await store.formatOf(source, signal) : formatOfSource(parseSource(source), CATALOG)
  return told && { format: told }
}

/** A package manager that fills the disk fails after minutes, with words about something else. */
async function requireRoom(
  enginesFolder: string,
  name: string,
  { version, diskBytes }: Recipe,
): Promise<void> {
  const free = await freeSpace(await nearestFolder(enginesFolder))
  if (free === undefined || free >= diskBytes) return
  throw new ModelyardError(
    'disk_full',
    `There is too little space for the engine ${name} ${version} in ${enginesFolder}: ${formatBytes(diskBytes)} are needed, ${formatBytes(free)} are free. Free some space, or set MODELYARD_HOME to another disk, then try again: modelyard engines install ${name}`,
    { details: { path: enginesFolder, need: diskBytes, free } },
  )
}

/** The folder itself, or the one in which it will be made. */
async function nearestFolder(folder: string): Promise<string> {
  const isThere = (await stat(folder).catch(() => undefined)) !== undefined
  const above = dirname(folder)
  return isThere || above === folder ? folder : await nearestFolder(above)
}

async function installLoudly(
  context: CommandContext,
  enginesFolder: string,
  engine: InstallableEngine,
  { version, size }: Recipe,
  { verbose = false, ...wishes }: InstallWishes,
): Promise<void> {
  const { err, clock, signal } = context
  const begun = clock.now()
  await err.line(
    `Installing the engine ${engine.name} ${version} into ${enginesFolder} (${size}, only this once) …`,
  )
  let doing = 'begun'
  const words = (): string => `installing ${engine.name}: ${doing}, ${formatDuration(clock.now() - begun)}`
  const note = new WaitingNote(err, clock, () => Promise.resolve(words()), { logEvery: 5000 })
  const onLine = (line: string): void => {
    doing = engine.counts(line) ?? doing
    if (verbose) void err.line(line)
  }
  const notes: string[] = []
  const onNote = (sentence: string): void => void notes.push(sentence)
  let installed: string
  try {
    installed = await engine.install(enginesFolder, { ...wishes, signal, onLine, onNote })
  } finally {
    await note.stop()
  }
  const took = formatDuration(clock.now() - begun)
  await err.line([`Installed ${engine.name} ${installed} in ${took}.`, ...notes].join('\n'))
}

function missing(engine: InstallableEngine, present: string | undefined): ModelyardError {
  const found = present === undefined ? 'is not installed' : `is installed as ${present}`
  return new ModelyardError(
    'engine_missing',
    `The engine ${engine.name} ${engine.version} ${found}. Install it: modelyard engines install ${engine.name}`,
  )
}
