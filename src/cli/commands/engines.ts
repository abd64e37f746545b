import { ModelyardError, toModelyardError } from '../../base/errors.ts'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { INSTALLABLE_ENGINES, installableEngine } from '../engines/installable-engines.ts'
import { requireEngine, type InstallWishes } from '../engines/require-engine.ts'
import { renderTable } from '../render/table.ts'

export interface EnginesOptions {
  json?: boolean
  verbose?: boolean
  fromSource?: boolean
  jobs?: number
  /** NAME=VALUE each. */
  define?: readonly string[]
  vision?: boolean
}

interface EngineEntry {
  engine: string
  wanted: string
  installed: string | null
  /** How it came here, where there are several ways: `wheel`, `compiled`, `on PATH`. */
  how?: string
  /** Folder of engines, or the program that was found elsewhere. */
  folder: string
  /** Why it cannot be installed here; absent = it can. */
  unavailable?: string
}

/** `modelyard engines list` */
export async function listEngines(context: CommandContext, options: EnginesOptions): CommandResult {
  const entries = await Promise.all(INSTALLABLE_ENGINES.map(async (name) => entryOrReason(context, name)))
  if (options.json === true) return await context.out.json(entries)
  const columns = [{ title: 'ENGINE' }, { title: 'WANTED' }, { title: 'INSTALLED' }, { title: 'WHERE' }]
  const rows = entries.map((entry) => [
    entry.engine,
    entry.wanted,
    installedWords(entry),
    entry.unavailable ?? entry.folder,
  ])
  await context.out.line(renderTable(columns, rows))
}

function installedWords({ engine, installed, how, unavailable }: EngineEntry): string {
  if (installed !== null) return how === undefined ? installed : `${installed} (${how})`
  return unavailable === undefined ? `no: modelyard engines install ${engine}` : 'not possible here'
}

/** `modelyard engines install [ENGINE]`: does nothing when the wanted version is there. */
export async function installEngineCommand(
  context: CommandContext,
  name: string,
  options: EnginesOptions,
): CommandResult {
  const engine = installableEngine(name)
  const installed = await requireEngine(context, context.directories.engines, engine, wishesOf(options))
  if (options.json === true) return await context.out.json(await entryOf(context, name))
  if (installed) return
  const version = await engine.installed(context.directories.engines)
  const again =
    options.fromSource === true
      ? ` It was compiled from this source with these settings; to compile it anew, remove it first: modelyard engines remove ${name}`
      : ''
  await context.out.line(`${engine.name} ${version ?? engine.version} is installed.${again}`)
}

/** @throws ModelyardError `invalid_request` for wishes about a compilation where nothing is compiled */
function wishesOf(options: EnginesOptions): InstallWishes {
  const { verbose = false, fromSource = false, jobs, define, vision } = options
  if (!fromSource && (jobs !== undefined || define !== undefined)) {
    const param = jobs === undefined ? 'define' : 'jobs'
    const message = `--${param} is about compiling, and nothing is compiled. Add --from-source, or leave --${param} out.`
    throw new ModelyardError('invalid_request', message, { details: { param } })
  }
  return {
    verbose,
    fromSource,
    ...(vision !== undefined && { vision }),
    ...(jobs !== undefined && { jobs }),
    ...(define !== undefined && { settings: define }),
  }
}

/** `modelyard engines remove ENGINE` */
export async function removeEngineCommand(
  context: CommandContext,
  name: string,
  options: EnginesOptions,
): CommandResult {
  const removed = await installableEngine(name).remove(context.directories.engines)
  if (options.json === true) return await context.out.json({ engine: name, removed })
  await context.out.line(removed ? `${name} is removed.` : `${name} was not installed here.`)
}

/** One that this platform has no binaries for is told with the reason, beside the others. */
async function entryOrReason(context: CommandContext, name: string): Promise<EngineEntry> {
  try {
    return await entryOf(context, name)
  } catch (error) {
    const unavailable = toModelyardError(error).message
    const { engines: folder } = context.directories
    return { engine: name, wanted: '–', installed: null, folder, unavailable }
  }
}

async function entryOf({ directories }: CommandContext, name: string): Promise<EngineEntry> {
  const engine = installableEngine(name)
  const origin = await engine.origin?.(directories.engines)
  return {
    engine: name,
    wanted: engine.version,
    installed: (await engine.installed(directories.engines)) ?? null,
    ...(origin !== undefined && { how: origin.how }),
    folder: origin?.path ?? directories.engines,
  }
}
