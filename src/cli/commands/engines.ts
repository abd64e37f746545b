import type { CommandContext, CommandResult } from '../command-context.ts'
import { enginePackage, INSTALLABLE_ENGINES, installedVersion } from '../engines/engine-package.ts'
import { requireEngine } from '../engines/require-engine.ts'
import { renderTable } from '../render/table.ts'

export interface EnginesOptions {
  json?: boolean
  verbose?: boolean
}

interface EngineEntry {
  engine: string
  wanted: string
  installed: string | null
  folder: string
}

/** `modelyard engines list` */
export async function listEngines(context: CommandContext, options: EnginesOptions): CommandResult {
  const entries = INSTALLABLE_ENGINES.map((name) => entryOf(context, name))
  if (options.json === true) return await context.out.json(entries)
  const columns = [{ title: 'ENGINE' }, { title: 'WANTED' }, { title: 'INSTALLED' }, { title: 'WHERE' }]
  const rows = entries.map(({ engine, wanted, installed, folder }) => [
    engine,
    wanted,
    installed ?? `no: modelyard engines install ${engine}`,
    folder,
  ])
  await context.out.line(renderTable(columns, rows))
}

/** `modelyard engines install [ENGINE]`: does nothing when the wanted version is there. */
export async function installEngineCommand(
  context: CommandContext,
  name: string,
  options: EnginesOptions,
): CommandResult {
  const engine = enginePackage(name)
  const installed = await requireEngine(context, context.directories.engines, engine, {
    verbose: options.verbose === true,
  })
  if (options.json === true) return await context.out.json(entryOf(context, name))
  if (!installed) await context.out.line(`${engine.name} ${engine.version} is installed.`)
}

function entryOf({ directories }: CommandContext, name: string): EngineEntry {
  const engine = enginePackage(name)
  return {
    engine: name,
    wanted: engine.version,
    installed: installedVersion(directories.engines, engine) ?? null,
    folder: directories.engines,
  }
}
