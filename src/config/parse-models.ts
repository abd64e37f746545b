import { isAbsolute } from 'node:path'
import { absolutePath } from '../base/scalar-shapes.ts'
import { report, type DataPath, type ReadContext } from '../base/shape.ts'
import { LLAMA_LIMITS } from '../engines/llama-cpp/llama-limits.ts'
import { CATALOG } from '../models/catalog.ts'
import type { DeviceOptions, ModelSpec } from '../models/model-spec.ts'
import { DEFAULT_ENGINE } from './engine-options.ts'
import type { ModelValues, WrittenModel } from './model-shape.ts'
import { checkWildcard, isWildcard } from './wildcard-models.ts'

const DEFAULT_SLOTS = 4
/** Engines without native code or weights: a process of their own protects nobody. */
const LIGHT_ENGINES: ReadonlySet<string> = new Set(['scripted', 'upstream'])

/** What holds for models that do not say. */
interface CommonOptions {
  keepAlive: number
  context: number | undefined
}

/** The specs of all models, in order, with what concerns several options or models checked. */
export function modelSpecs(
  models: Record<string, WrittenModel>,
  common: CommonOptions,
  context: ReadContext,
): ModelSpec[] {
  const specs = Object.entries(models).map(([id, written]) => modelSpec(id, written, common, context))
  checkNames(specs, context)
  return specs
}

function modelSpec(
  id: string,
  { values, engineOptions }: WrittenModel,
  common: CommonOptions,
  context: ReadContext,
): ModelSpec {
  checkValues(id, values, context)
  const { engine, context: tokens, system, minInstances = 0 } = values
  const source = sourceOf(id, values, context.directory)
  return {
    id,
    ...(source !== undefined && { source }),
    ...(engine !== undefined && { engine }),
    ...(tokens !== undefined && { context: tokens }),
    ...(common.context !== undefined && { defaultContext: common.context }),
    ...(values.enabled === false && { enabled: false }),
    slots: values.slots ?? DEFAULT_SLOTS,
    minInstances,
    maxInstances: values.maxInstances ?? Math.max(1, minInstances),
    keepAlive: values.keepAlive ?? common.keepAlive,
    pinned: values.pinned ?? false,
    prepare: values.prepare ?? 'on-demand',
    isolation: values.isolation ?? (LIGHT_ENGINES.has(engine ?? '') ? 'none' : 'worker'),
    device: deviceOptions(values.device ?? {}),
    ...(values.parking === false && { parking: false }),
    ...beginningsOf(values),
    ...(values.contextBudget !== undefined && { contextBudget: values.contextBudget }),
    aliases: values.aliases ?? [],
    ...(values.name !== undefined && { name: values.name }),
    ...(values.favourite === true && { favourite: true }),
    defaults: values.defaults ?? {},
    ...(system !== undefined && { system }),
    engineOptions,
  }
}

function beginningsOf({
  initialMessages,
  prefix,
}: ModelValues): Pick<ModelSpec, 'initialMessages' | 'prefix'> {
  return {
    ...(initialMessages !== undefined && initialMessages.length > 0 && { initialMessages }),
    ...(prefix !== undefined && prefix !== '' && { prefix }),
  }
}

function deviceOptions({
  gpu = 'auto',
  gpuLayers,
  threads,
  memoryLock = false,
}: NonNullable<ModelValues['device']>): DeviceOptions {
  return {
    gpu,
    ...(gpuLayers !== undefined && { gpuLayers }),
    ...(threads !== undefined && threads !== 'auto' && { threads }),
    memoryLock,
  }
}

function checkValues(id: string, values: ModelValues, context: ReadContext): void {
  if (isWildcard(id)) checkWildcard(id, values, context)
  const { source, file, minInstances = 0, maxInstances } = values
  if (source !== undefined && file !== undefined) {
    report(
      context,
      ['models', id, 'file'],
      'stands for "source", which is there too; keep one of them',
      'key',
    )
  }
  if (maxInstances !== undefined && minInstances > maxInstances) {
    const message = `must not be above maxInstances: ${minInstances} > ${maxInstances}`
    report(context, ['models', id, 'minInstances'], message)
  }
  if ((values.engine ?? DEFAULT_ENGINE) !== DEFAULT_ENGINE) return
  checkOrigin(id, values, context)
  checkSize(id, values, context)
}

/** A model without a word on where it comes from can only be one of the catalog; that is told at the start, not at its first request. */
function checkOrigin(id: string, { source, file }: ModelValues, context: ReadContext): void {
  const isTold = context.problems.some(({ path }) => path[0] === 'models' && path[1] === id)
  if (isTold || source !== undefined || file !== undefined || Object.hasOwn(CATALOG, id)) return
  report(
    context,
    ['models', id],
    `needs a source (or a file): the catalog has no "${id}", only ${Object.keys(CATALOG).join(', ')}`,
  )
}

function checkSize(
  id: string,
  { context: tokens, slots = DEFAULT_SLOTS }: ModelValues,
  context: ReadContext,
): void {
  const most = LLAMA_LIMITS
  if (slots > most.slots) {
    report(context, ['models', id, 'slots'], `must not be above ${most.slots}, not ${slots}`)
  } else if (tokens !== undefined && tokens * slots > most.cells) {
    const message = `must not be above ${Math.floor(most.cells / slots)} with ${slots} slots, not ${tokens}: ${most.cells} tokens are the most an instance can hold`
    report(context, ['models', id, 'context'], message)
  }
}

/** Paths become absolute; a model that says nothing of where it comes from is looked for in the catalog by its id. */
function sourceOf(id: string, { source, file, engine }: ModelValues, directory: string): string | undefined {
  if (file !== undefined) return file
  if (source === undefined) return (engine ?? DEFAULT_ENGINE) === DEFAULT_ENGINE ? id : undefined
  return isPath(source) ? absolutePath(source, directory) : source
}

function isPath(source: string): boolean {
  if (isAbsolute(source) || /^(~|\.{1,2})?[/\\]/.test(source) || source === '~') return true
  if (/^[a-z][a-z0-9+.-]+:/i.test(source)) return false
  return source.includes('/') || source.includes('\\') || /\.gguf$/i.test(source)
}

/** One name, one model: ids, aliases and names together. A name that its own model has anyway does no harm. */
function checkNames(specs: readonly ModelSpec[], context: ReadContext): void {
  const owners = new Map(specs.map(({ id }) => [id, id]))
  const claim = (id: string, name: string, path: DataPath): void => {
    const owner = owners.get(name)
    owners.set(name, id)
    if (owner === undefined || (owner === id && path.at(-1) === 'name')) return
    const message = `is a name of model "${owner}" already; every name may stand for one model only`
    report(context, path, message)
  }
  for (const { id, aliases, name } of specs) {
    for (const [index, alias] of aliases.entries()) claim(id, alias, ['models', id, 'aliases', index])
    if (name !== undefined) claim(id, name, ['models', id, 'name'])
  }
}
