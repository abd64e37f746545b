import { either, list, object, oneOrMore, type Fields } from '../base/compound-shapes.ts'
import { nearestNames } from '../base/nearest.ts'
import { anything, choice, duration, filePath, flag, number, size, text } from '../base/scalar-shapes.ts'
import {
  described,
  kindOf,
  report,
  type DataPath,
  type JsonSchema,
  type ReadContext,
  type Shape,
} from '../base/shape.ts'
import type { ModelDefaults } from '../models/model-spec.ts'
import type { ModelOptions } from './configuration-input.ts'
import { DEFAULT_ENGINE, type EngineOptionTable } from './engine-options.ts'

/** A model's options after reading, defaults not yet filled in. */
export interface ModelValues {
  source?: string
  file?: string
  engine?: string
  context?: number
  slots?: number
  minInstances?: number
  maxInstances?: number
  keepAlive?: number
  pinned?: boolean | 'soft'
  prepare?: 'blocking' | 'background' | 'on-demand'
  isolation?: 'worker' | 'none'
  device?: { gpu?: boolean | string; gpuLayers?: number; threads?: number | 'auto'; memoryLock?: boolean }
  parking?: boolean
  contextBudget?: number
  initialMessages?: { role: 'system' | 'user' | 'assistant'; content: string }[]
  prefix?: string
  aliases?: string[]
  name?: string
  favourite?: boolean
  enabled?: boolean
  defaults?: ModelDefaults
  system?: string
}

/** P1: letters, digits, `_ - . : /`; no empty, `.` or `..` part, which clients would fold away in a URL. */
export const MODEL_ID: { pattern: RegExp; wants: string } = {
  pattern: /^(?!(.*\/)?\.{0,2}(\/|$))[A-Za-z0-9_.:/-]+$/,
  wants: 'letters, digits and _ - . : /, without empty parts between slashes',
}

/** Entries of the configuration: a model's id, or `prefix*` for all models that an endpoint lists. */
export const MODEL_ENTRY: { pattern: RegExp; wants: string } = {
  pattern: /^(?!(.*\/)?\.{0,2}(\/|$))[A-Za-z0-9_.:/-]*[A-Za-z0-9_.:/*-]$/,
  wants: `${MODEL_ID.wants}; a * at the end stands for all models of an endpoint`,
}

const whole = (min: number): Shape<number> => number({ min, whole: true })

const device = object({
  gpu: described(either<[boolean, string]>(flag(), text()), '"auto", a backend or a device name.', 'auto'),
  gpuLayers: described(whole(0), 'Layers on the GPU.'),
  threads: described(
    either<[number, 'auto']>(number({ min: 1, max: 1024, whole: true }), choice('auto')),
    'Threads of one instance.',
    'auto',
  ),
  memoryLock: described(flag(), 'Keeps the weights from being paged out.', false),
})

const defaults: Record<keyof ModelDefaults, Shape<unknown>> = {
  temperature: number({ min: 0 }),
  topP: number({ min: 0, max: 1 }),
  topK: whole(0),
  minP: number({ min: 0, max: 1 }),
  seed: number({ min: 0, max: 2 ** 32 - 1, whole: true }),
  maxTokens: whole(0),
  repeatPenalty: number({ above: 0 }),
  presencePenalty: number({ min: -2, max: 2 }),
  frequencyPenalty: number({ min: -2, max: 2 }),
}

const SOURCE =
  'A path, hf:org/repo[:quant][/file][@revision], an https URL, pip:package/file or a catalog name.'

/** Options that every model may have. */
export const modelFields: Record<keyof ModelOptions, Shape<unknown>> = {
  source: described(text({ pattern: /\S/, wants: 'the place of a model' }), SOURCE),
  file: described(filePath(), 'Path of the weights.'),
  engine: described(text({ pattern: /\S/, wants: 'the name of an engine' }), 'Name of the engine.'),
  context: described(number({ min: 1, max: 2 ** 31 - 1, whole: true }), 'Tokens per slot.'),
  slots: described(number({ min: 1, max: 1024, whole: true }), 'Conversations at once per instance.', 4),
  minInstances: described(number({ min: 0, max: 1024, whole: true }), 'Instances always loaded.', 0),
  maxInstances: described(number({ min: 1, max: 1024, whole: true }), 'Most instances.', 1),
  keepAlive: described(duration(), 'Idle time until unload; 0 at release, −1 never.', '5m'),
  pinned: described(either<[boolean, 'soft']>(flag(), choice('soft')), 'Never evicted.', false),
  prepare: described(choice('blocking', 'background', 'on-demand'), 'When it is loaded.', 'on-demand'),
  isolation: described(choice('worker', 'none'), 'Where the engine runs.', 'worker'),
  device,
  parking: described(flag(), 'Its contexts may be written to disk.', true),
  contextBudget: described(
    size(),
    'Most its contexts may take on disk; as much as all models together by default.',
  ),
  initialMessages: described(
    list(
      object(
        { role: choice('system', 'user', 'assistant'), content: text() },
        { required: ['role', 'content'] },
      ),
    ),
    'The beginning of its conversations: evaluated ahead when it is loaded, and kept on disk.',
  ),
  prefix: described(text(), 'The same for prompts of completions.'),
  aliases: described(oneOrMore(text(MODEL_ID)), 'Other names of the model.'),
  name: described(text(MODEL_ID), 'What listings call it; requests may use it, too.'),
  favourite: described(flag(), 'Listed before the others.', false),
  enabled: described(flag(), 'False: hidden, as if it were not here.', true),
  defaults: described(object(defaults), 'Used where a request leaves a value out.'),
  system: described(text(), 'System text where a request has none; "" suppresses the template’s own.'),
}

/** What was written about one model. */
export interface WrittenModel {
  values: ModelValues
  /** Names that belong to the engine; checked where its options are known. */
  engineOptions: Record<string, unknown>
}

/** A model's entry: a text is its source; an engine's own options stand among the others. */
export function modelShape(engines: EngineOptionTable): Shape<WrittenModel> {
  const source = text()
  const wants = 'a map of options, or a text with its source'
  return {
    wants,
    schema: { anyOf: [source.schema, modelSchema(engines)] },
    accepts: (value) => typeof value === 'string' || typeof value === 'object',
    read(value, path, context) {
      if (typeof value === 'string') return { values: { source: value }, engineOptions: {} }
      if (typeof value !== 'object') return report(context, path, `must be ${wants}, not ${kindOf(value)}`)
      const own = ownFields(value, engines, path, context)
      const read = object({ ...own, ...modelFields }).read(value, path, context)
      return read === undefined ? undefined : divide(read)
    },
  }
}

function divide(read: Record<string, unknown>): WrittenModel {
  const entries = Object.entries(read)
  const common = (name: string): boolean => Object.hasOwn(modelFields, name)
  return {
    values: Object.fromEntries(entries.filter(([name]) => common(name))),
    engineOptions: Object.fromEntries(entries.filter(([name]) => !common(name))),
  }
}

/** The fields of the engine that the entry names; any names where the engine checks them itself. */
function ownFields(value: unknown, engines: EngineOptionTable, path: DataPath, context: ReadContext): Fields {
  const map = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  const name = typeof map['engine'] === 'string' ? map['engine'] : DEFAULT_ENGINE
  const fields = Object.hasOwn(engines, name) ? engines[name] : undefined
  if (fields === undefined) report(context, [...path, 'engine'], unknownEngine(name, Object.keys(engines)))
  if (fields !== undefined && fields !== 'unchecked') return fields
  return Object.fromEntries(Object.keys(map).map((key) => [key, anything()]))
}

function unknownEngine(name: string, known: string[]): string {
  const [near] = nearestNames(name, known, 1)
  const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`
  return `must be the name of an engine; ${hint}`
}

/** For editors: the options of the engine that is named; of one nobody knows, any. */
function modelSchema(engines: EngineOptionTable): JsonSchema {
  const known = Object.entries(engines).filter(([, fields]) => fields !== 'unchecked')
  return {
    type: 'object',
    properties: { engine: { anyOf: [{ enum: known.map(([name]) => name) }, { type: 'string' }] } },
    allOf: known.map(([name, fields]) => ({
      if: {
        properties: { engine: { const: name } },
        ...(name !== DEFAULT_ENGINE && { required: ['engine'] }),
      },
      // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
      then: object({ ...(fields as Fields), ...modelFields }).schema,
    })),
  }
}
