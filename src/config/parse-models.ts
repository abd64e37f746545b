import { isAbsolute } from 'node:path'
import { absolutePath } from '../base/scalar-shapes.ts'
import { report, type ReadContext } from '../base/shape.ts'
import type { DeviceOptions, ModelSpec } from '../models/model-spec.ts'
import type { ModelValues, WrittenModel } from './model-shape.ts'

const DEFAULT_SLOTS = 4

/** The specs of all models, in order, with what concerns several options or models checked. */
export function modelSpecs(
  models: Record<string, WrittenModel>,
  keepAlive: number,
  context: ReadContext,
): ModelSpec[] {
  const specs = Object.entries(models).map(([id, written]) => modelSpec(id, written, keepAlive, context))
  checkNames(specs, context)
  return specs
}

function modelSpec(
  id: string,
  { values, engineOptions }: WrittenModel,
  keepAlive: number,
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
    slots: values.slots ?? DEFAULT_SLOTS,
    minInstances,
    maxInstances: values.maxInstances ?? Math.max(1, minInstances),
    keepAlive: values.keepAlive ?? keepAlive,
    pinned: values.pinned ?? false,
    prepare: values.prepare ?? 'on-demand',
    isolation: values.isolation ?? (engine === 'scripted' ? 'none' : 'worker'),
    device: deviceOptions(values.device ?? {}),
    aliases: values.aliases ?? [],
    defaults: values.defaults ?? {},
    ...(system !== undefined && { system }),
    engineOptions,
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
}

/** Paths become absolute; a model that says nothing of where it comes from is looked for in the catalog by its id. */
function sourceOf(id: string, { source, file, engine }: ModelValues, directory: string): string | undefined {
  if (file !== undefined) return file
  if (source === undefined) return engine === undefined ? id : undefined
  return isPath(source) ? absolutePath(source, directory) : source
}

function isPath(source: string): boolean {
  if (isAbsolute(source) || /^(~|\.{1,2})?[/\\]/.test(source) || source === '~') return true
  if (/^[a-z][a-z0-9+.-]+:/i.test(source)) return false
  return source.includes('/') || source.includes('\\') || /\.gguf$/i.test(source)
}

/** One name, one model: ids and aliases together. */
function checkNames(specs: readonly ModelSpec[], context: ReadContext): void {
  const owners = new Map(specs.map(({ id }) => [id, id]))
  for (const { id, aliases } of specs) {
    for (const [index, alias] of aliases.entries()) {
      const owner = owners.get(alias)
      if (owner !== undefined) {
        const message = `is a name of model "${owner}" already; every name may stand for one model only`
        report(context, ['models', id, 'aliases', index], message)
      }
      owners.set(alias, id)
    }
  }
}
