import type { JsonSchema } from '../../base/shape.ts'
import { ADMIN, BAD, type Descriptions } from './route-description.ts'
import {
  FLAG,
  list,
  mapOf,
  NUMBER,
  NUMBER_OR_NULL,
  record,
  TEXT,
  TEXT_OR_NULL,
  WHOLE,
} from './schema-words.ts'

const TARGET: JsonSchema = record(
  { model: { ...TEXT, description: 'Id or alias.' } },
  {
    keep_alive: {
      type: ['number', 'string'],
      description: 'Idle time until unload: seconds or "5m"; -1 = never.',
    },
    force: { ...FLAG, description: 'Beyond the budget, up to the absolute limit.' },
    context: {
      ...WHOLE,
      minimum: 1,
      description:
        'Tokens per slot at least: a copy with fewer goes when its runs have ended, and a larger one is loaded.',
    },
    slots: { ...WHOLE, minimum: 1, description: 'Slots at least, in the same way.' },
  },
)

const LEAVING_TARGET: JsonSchema = record(
  { model: { ...TEXT, description: 'Id or alias, or an instance such as smollm2#1.' } },
  { force: { ...FLAG, description: 'Cuts running answers at once.' } },
)

const LOADED: JsonSchema = record({ model: TEXT, loaded: FLAG })

export const PINNED: JsonSchema = { enum: [true, false, 'soft'] }

const PIN: JsonSchema = record({ model: TEXT }, { pinned: { ...PINNED, default: true } })

const PINNED_MODEL: JsonSchema = record({ model: TEXT, pinned: PINNED })

const FORECAST: JsonSchema = record(
  {
    model: TEXT,
    bytes: mapOf(NUMBER),
    contextSize: WHOLE,
    slots: WHOLE,
    outcome: { enum: ['resident', 'fits', 'evicts', 'waits', 'refused'] },
    evicts: list(record({ instance: TEXT, bytes: NUMBER, idleFor: NUMBER, reason: TEXT })),
    largestContext: NUMBER_OR_NULL,
  },
  { refusal: { type: 'object' } },
)

/** What is said of a model wherever it is told of. */
export const IDENTITY: Record<string, JsonSchema> = {
  id: TEXT,
  aliases: list(TEXT),
  name: TEXT,
  favourite: FLAG,
  created: NUMBER,
  state: TEXT,
  contextLength: NUMBER_OR_NULL,
  purpose: TEXT_OR_NULL,
}

/** What is said of it where it is known. */
export const KNOWN: Record<string, JsonSchema> = {
  engine: TEXT,
  quantization: TEXT,
  problem: TEXT,
  sameFileAs: TEXT,
}

export const LIST: JsonSchema = record({
  entry: TEXT,
  models: WHOLE,
  vanished: WHOLE,
  toldAt: NUMBER_OR_NULL,
  problem: TEXT_OR_NULL,
})

const LISTS: JsonSchema = record({ lists: list(LIST) })

const ENDPOINT: JsonSchema = record(
  { url: TEXT, abilities: list(record({ name: TEXT, has: FLAG, source: TEXT })) },
  { contextLength: WHOLE, counting: TEXT, problem: TEXT },
)

const DESCRIPTION: JsonSchema = record(
  {
    ...IDENTITY,
    capabilities: { type: ['object', 'null'] },
    modifiedAt: NUMBER,
    bytes: NUMBER,
    digest: TEXT,
    facts: { type: ['object', 'null'] },
    defaults: { type: 'object' },
  },
  { system: TEXT, recipe: { type: 'object' }, endpoint: ENDPOINT, ...KNOWN },
)

/** What is known of single models, and how they come into memory and go. */
export const MODEL_DESCRIPTIONS: Descriptions = {
  'GET /api/yard/plan/*': {
    summary: 'What loading a model would do now, without loading it.',
    answer: FORECAST,
    errors: { ...ADMIN, 404: 'no such model' },
  },
  'POST /api/yard/load': {
    summary: 'Brings a model into memory; answers when it is ready.',
    body: TARGET,
    answer: LOADED,
    errors: {
      ...BAD,
      404: 'no such model',
      503: 'no memory now, or the load failed; Retry-After',
      507: 'can never fit',
    },
  },
  'POST /api/yard/unload': {
    summary: 'Takes a model, or one instance, out of memory; answers when its bytes are back.',
    body: LEAVING_TARGET,
    answer: LOADED,
    errors: { ...BAD, 404: 'no such model' },
  },
  'GET /api/yard/models/*': {
    summary: 'A model with all that is known of it: its file, or what its endpoint says of it.',
    answer: DESCRIPTION,
    errors: { ...ADMIN, 404: 'no such model' },
  },
  'POST /api/yard/models/refresh': {
    summary: 'Asks the endpoints of all prefix* entries which models they have.',
    answer: LISTS,
    errors: ADMIN,
  },
  'POST /api/yard/pin': {
    summary: 'Keeps a model in memory once it is there, or lets it go again.',
    body: PIN,
    answer: PINNED_MODEL,
    errors: { ...BAD, 404: 'no such model' },
  },
}
