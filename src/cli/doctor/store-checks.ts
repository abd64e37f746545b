import { existsSync } from 'node:fs'
import { SystemClock } from '../../base/clock.ts'
import { ModelyardError, toModelyardError } from '../../base/errors.ts'
import type { YardDirectories } from '../../config/directories.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { ArtifactStore } from '../../models/artifact-store.ts'
import { scanModelsFolder } from '../../models/discovery/scan-models-folder.ts'
import { ModelInspector } from '../../models/inspect-model.ts'
import { lackOf } from '../../models/onnx/needed-files.ts'
import { findModelPlaces, type ModelPlace } from '../../models/model-places.ts'
import { checkDatabase } from '../../store/check-database.ts'
import type { Check } from './check.ts'

/** Files whose headers are read; reading one takes some milliseconds. */
const MOST_FILES = 200

/** The database, only read: nothing is repaired or moved. */
export async function examineDatabase({ database }: Pick<YardDirectories, 'database'>): Promise<Check> {
  const name = 'database'
  if (!existsSync(database)) return { name, status: 'ok', found: 'none yet' }
  try {
    await checkDatabase(database)
    return { name, status: 'ok', found: database }
  } catch (error) {
    if (error instanceof ModelyardError && error.code === 'unsupported') {
      const remedy = 'Use the newer Modelyard, or set MODELYARD_HOME to another folder.'
      return { name, status: 'problem', found: error.message, remedy }
    }
    const found = `${database} is damaged (${(error as Error).message})`
    const remedy =
      'Nothing: the next start sets it aside and begins a new one. History and settings are in the old file.'
    return { name, status: 'warning', found, remedy }
  }
}

/** The folder of models, and the header of each file in it. */
export async function examineModels({ models: folder }: Pick<YardDirectories, 'models'>): Promise<Check> {
  const name = 'models'
  if (!existsSync(folder)) return { name, status: 'ok', found: `none in ${folder}` }
  const { models, problems } = await scanModelsFolder(folder)
  const [unreadable] = problems
  if (unreadable !== undefined) {
    const remedy = `Give this user the right to read ${folder} and all in it: chmod -R u+rX ${folder}`
    return { name, status: 'warning', found: unreadable, remedy }
  }
  const inspector = new ModelInspector()
  for (const model of models.slice(0, MOST_FILES)) {
    const problem = model.problem ?? (await problemOf(inspector, model.path))
    if (problem === undefined) continue
    const remedy = `Fetch it again, or delete it: modelyard rm ${model.name}`
    return { name, status: 'warning', found: `${model.name}: ${problem}`, remedy }
  }
  return { name, status: 'ok', found: `${models.length} in ${folder}` }
}

/** Folders with ONNX graphs among the configured models: what they are for, and whether all is there. */
export interface OnnxFindings {
  /** Engines that they need. */
  engines: Set<string>
  check: Check
}

export async function examineOnnxFolders({ models, directories }: YardConfiguration): Promise<OnnxFindings> {
  const name = 'ONNX models'
  const store = new ArtifactStore({ folder: directories.models, clock: new SystemClock() })
  const inspector = new ModelInspector()
  const engines = new Set<string>()
  let broken: Check | undefined
  for (const { id, source } of models) {
    const path = source === undefined ? undefined : await store.locate(source)
    const facts = path === undefined ? undefined : await inspector.inspect(path).catch(() => undefined)
    if (facts?.onnx === undefined) continue
    engines.add(facts.purpose === 'speech' ? 'speech' : 'transformers')
    const lack = lackOf(facts)
    const remedy = `Put it there as the model’s page has it, or fetch the model again: modelyard pull ${id}`
    if (lack !== undefined) broken ??= { name, status: 'warning', found: `${id}: ${lack}`, remedy }
  }
  const found = engines.size === 0 ? 'none configured' : 'all files are there'
  return { engines, check: broken ?? { name, status: 'ok', found } }
}

/** The files of configured models that lie on this machine; what is fetched on first use is not looked for. */
export async function examineSources({ models, directories }: YardConfiguration): Promise<Check> {
  const name = 'sources'
  const store = new ArtifactStore({ folder: directories.models, clock: new SystemClock() })
  const places = await findModelPlaces(models, store)
  const missing = [...places].flatMap(([id, place]) =>
    place.missing === undefined ? [] : [{ id, ...place.missing }],
  )
  const [first, ...others] = missing
  if (first === undefined) {
    if (models.length === 0) return { name, status: 'ok', found: 'no model is configured' }
    const count = `files of ${models.length} configured model${models.length === 1 ? '' : 's'}`
    return {
      name,
      status: 'ok',
      found: [`${count} are here or can be fetched`, ...sharedFiles(places)].join('; '),
    }
  }
  const rest = others.length === 0 ? '' : ` So it is with ${others.map(({ id }) => id).join(', ')}.`
  return { name, status: 'warning', found: `${first.id}: ${first.reason}${rest}`, remedy: first.remedy }
}

function sharedFiles(places: ReadonlyMap<string, ModelPlace>): string[] {
  return [...places].flatMap(([id, { sameFileAs }]) =>
    sameFileAs === undefined ? [] : [`${id} is the same file as ${sameFileAs}`],
  )
}

async function problemOf(inspector: ModelInspector, path: string): Promise<string | undefined> {
  try {
    return lackOf(await inspector.inspect(path))
  } catch (error) {
    return toModelyardError(error).message
  }
}
