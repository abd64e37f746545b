import type { JsonSchema } from '../base/shape.ts'

/* What the control API takes and gives, as JSON Schema. A test holds real answers against them. */

const TEXT: JsonSchema = { type: 'string' }
const NUMBER: JsonSchema = { type: 'number' }
const WHOLE: JsonSchema = { type: 'integer' }
const FLAG: JsonSchema = { type: 'boolean' }
const TEXT_OR_NULL: JsonSchema = { type: ['string', 'null'] }
const NUMBER_OR_NULL: JsonSchema = { type: ['number', 'null'] }
const PINNED: JsonSchema = { enum: [true, false, 'soft'] }

function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

function mapOf(values: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: values }
}

/** Every field is there; more may come with later versions. */
function record(fields: Record<string, JsonSchema>, optional: Record<string, JsonSchema> = {}): JsonSchema {
  return { type: 'object', required: Object.keys(fields), properties: { ...fields, ...optional } }
}

export const ERROR: JsonSchema = record({
  error: record({
    code: TEXT,
    message: TEXT,
    details: { type: 'object' },
    retryAfter: NUMBER_OR_NULL,
    requestId: TEXT,
  }),
})

export const HEALTH: JsonSchema = record(
  { ready: FLAG },
  { status: TEXT, reason: TEXT, scheduler: TEXT, store: TEXT, workers: TEXT },
)

export const TARGET: JsonSchema = record(
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

export const LEAVING_TARGET: JsonSchema = record(
  { model: { ...TEXT, description: 'Id or alias, or an instance such as smollm2#1.' } },
  { force: { ...FLAG, description: 'Cuts running answers at once.' } },
)

export const LOADED: JsonSchema = record({ model: TEXT, loaded: FLAG })

export const PIN: JsonSchema = record({ model: TEXT }, { pinned: { ...PINNED, default: true } })

export const PINNED_MODEL: JsonSchema = record({ model: TEXT, pinned: PINNED })

const SETTING: JsonSchema = record(
  {
    key: TEXT,
    value: {},
    origin: { enum: ['command-line', 'environment', 'settings', 'file', 'default'] },
    effective: {},
    description: TEXT,
  },
  { hidden: {}, warning: TEXT },
)

export const SETTINGS: JsonSchema = record({ settings: list(SETTING) })

export const SETTING_CHANGES: JsonSchema = {
  type: 'object',
  description:
    'Values by key, as in the configuration file; models.ID.OPTION for single models. Null takes a change back. All or none.',
  additionalProperties: true,
}

export const RUN: JsonSchema = record({
  id: TEXT,
  model: TEXT,
  instance: TEXT_OR_NULL,
  kind: TEXT,
  startedAt: NUMBER,
  queueMs: NUMBER,
  loadMs: NUMBER,
  prefillMs: NUMBER,
  decodeMs: NUMBER,
  totalMs: NUMBER,
  promptTokens: WHOLE,
  cachedTokens: WHOLE,
  savedMs: NUMBER,
  completionTokens: WHOLE,
  outcome: TEXT,
  request: TEXT_OR_NULL,
  placement: TEXT_OR_NULL,
  error: TEXT_OR_NULL,
})

export const RUNS: JsonSchema = record({ runs: list(RUN) })

export const EXPLANATION: JsonSchema = record(
  {
    subject: { enum: ['run', 'model'] },
    id: TEXT,
    model: TEXT,
    reasons: list(TEXT),
    events: list(record({ at: NUMBER, name: TEXT, text: TEXT })),
  },
  { run: RUN, state: { enum: ['preparing', 'waiting', 'running'] } },
)

export const FORECAST: JsonSchema = record(
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

const INSTANCE: JsonSchema = record(
  {
    id: TEXT,
    model: TEXT,
    state: { enum: ['loading', 'warming', 'ready', 'draining', 'unloading'] },
    contextSize: WHOLE,
    threads: WHOLE,
    slots: list(record({ index: WHOLE, leased: FLAG, cached: NUMBER })),
    leases: WHOLE,
    booked: mapOf(NUMBER),
    estimated: mapOf({ type: 'object' }),
    idleFor: NUMBER,
    expiresIn: NUMBER_OR_NULL,
  },
  { progress: NUMBER, pid: WHOLE, measured: mapOf(NUMBER) },
)

const TICKET: JsonSchema = record({
  id: TEXT,
  model: TEXT,
  priority: TEXT,
  waitingFor: NUMBER,
  position: WHOLE,
  reason: TEXT,
})

const ACTIVITY: JsonSchema = record({
  run: TEXT,
  request: TEXT_OR_NULL,
  model: TEXT,
  kind: TEXT,
  state: { enum: ['preparing', 'waiting', 'running'] },
  ticket: TEXT_OR_NULL,
  instance: TEXT_OR_NULL,
  startedAt: NUMBER,
})

const MODEL_RECORD: JsonSchema = {
  ...record({
    model: TEXT,
    loads: WHOLE,
    loadMs: NUMBER_OR_NULL,
    firstTokenMs: NUMBER_OR_NULL,
    verified: FLAG,
    lastError: { anyOf: [{ type: 'null' }, record({ code: TEXT, message: TEXT, at: NUMBER })] },
  }),
  type: ['object', 'null'],
}

/** What is said of a model wherever it is told of. */
const IDENTITY = {
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
const KNOWN = { engine: TEXT, quantization: TEXT, problem: TEXT, sameFileAs: TEXT }

const MODEL: JsonSchema = record(
  {
    ...IDENTITY,
    record: MODEL_RECORD,
  },
  {
    pinned: PINNED,
    loads: WHOLE,
    evictions: WHOLE,
    lastError: { type: 'object' },
    ...KNOWN,
  },
)

const LIST: JsonSchema = record({
  entry: TEXT,
  models: WHOLE,
  vanished: WHOLE,
  toldAt: NUMBER_OR_NULL,
  problem: TEXT_OR_NULL,
})

export const LISTS: JsonSchema = record({ lists: list(LIST) })

const ENDPOINT: JsonSchema = record(
  { url: TEXT, abilities: list(record({ name: TEXT, has: FLAG, source: TEXT })) },
  { contextLength: WHOLE, counting: TEXT, problem: TEXT },
)

export const DESCRIPTION: JsonSchema = record(
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

const DOMAIN: JsonSchema = record(
  { budget: NUMBER, absolute: NUMBER, booked: NUMBER, loading: NUMBER, resident: NUMBER, releasing: NUMBER },
  { host: record({ total: NUMBER, available: NUMBER, source: TEXT }) },
)

export const STATE: JsonSchema = record({
  version: TEXT,
  pid: WHOLE,
  home: TEXT_OR_NULL,
  url: TEXT_OR_NULL,
  startedAt: NUMBER,
  store: TEXT,
  modelLists: list(LIST),
  activity: list(ACTIVITY),
  models: list(MODEL),
  instances: list(INSTANCE),
  queue: list(TICKET),
  memory: mapOf(DOMAIN),
  threads: record({ limit: NUMBER, active: NUMBER }),
  runs: record({ limit: NUMBER, active: NUMBER }),
})

export const TELEMETRY: JsonSchema = record({
  every: NUMBER,
  keptFor: NUMBER,
  unknown: list(TEXT),
  samples: list(
    record({
      at: NUMBER,
      cpu: NUMBER_OR_NULL,
      memory: mapOf(
        record({ budget: NUMBER, booked: NUMBER, total: NUMBER_OR_NULL, available: NUMBER_OR_NULL }),
      ),
      devices: mapOf(NUMBER_OR_NULL),
      queue: WHOLE,
      runs: WHOLE,
      workers: list(record({ instance: TEXT, model: TEXT, cpu: NUMBER_OR_NULL, memory: NUMBER_OR_NULL })),
    }),
  ),
})

export const BEGINNING: JsonSchema = record(
  { model: TEXT },
  { messages: list({ type: 'object' }), tools: list({ type: 'object' }), prompt: TEXT },
)

export const WARMED: JsonSchema = record({
  model: TEXT,
  tokens: WHOLE,
  cachedTokens: WHOLE,
  took: NUMBER,
  kept: FLAG,
})

export const CONTEXTS: JsonSchema = record({ contexts: list({ type: 'object' }) })

export const CONTEXTS_TO_REMOVE: JsonSchema = record({}, { ids: list(TEXT), model: TEXT })

export const REMOVED: JsonSchema = record({ removed: WHOLE })

/** What every request for a model's work may carry. */
const CALL: Record<string, JsonSchema> = {
  keep_alive: { type: ['number', 'string'] },
  priority: { enum: ['interactive', 'normal', 'background'] },
  timeout: { type: ['number', 'string'], description: 'Seconds or "30s", for the whole request.' },
}

const ONE_OR_MANY: JsonSchema = { anyOf: [TEXT, list(TEXT)] }

export const CLASSIFY: JsonSchema = record(
  { model: TEXT },
  {
    input: { ...ONE_OR_MANY, description: 'Texts; for models that classify texts.' },
    image: { ...ONE_OR_MANY, description: 'Data URIs of images; for models that classify images.' },
    labels: {
      ...list(TEXT),
      description:
        'Labels of your own (zero-shot), for texts and models that were trained on entailment, and for images and CLIP.',
    },
    hypothesis: { ...TEXT, default: 'This example is {}.' },
    multiple: { ...FLAG, default: false, description: 'Several labels can be right.' },
    top: { ...WHOLE, minimum: 1, description: 'So many labels of each input; default all.' },
    ...CALL,
  },
)

const TOKENS: JsonSchema = record({ prompt_tokens: WHOLE, total_tokens: WHOLE })

export const CLASSIFIED: JsonSchema = record({
  model: TEXT,
  results: list(record({ index: WHOLE, labels: list(record({ label: TEXT, score: NUMBER })) })),
  usage: TOKENS,
})

export const DETECT: JsonSchema = record(
  { model: TEXT, image: { ...TEXT, description: 'A data URI.' } },
  { threshold: { ...NUMBER, minimum: 0, maximum: 1, default: 0.5 }, ...CALL },
)

export const DETECTED: JsonSchema = record({
  model: TEXT,
  objects: list(
    record({
      label: TEXT,
      score: NUMBER,
      box: record({ left: NUMBER, top: NUMBER, right: NUMBER, bottom: NUMBER }),
    }),
  ),
  usage: TOKENS,
})

export const CAPTION: JsonSchema = record(
  { model: TEXT, image: { ...TEXT, description: 'A data URI.' } },
  {
    max_tokens: {
      ...WHOLE,
      minimum: 0,
      description:
        'Tokens to write at most; default: what the model’s folder says, then as many as it can hold.',
    },
    ...CALL,
  },
)

export const CAPTIONED: JsonSchema = record({
  model: TEXT,
  text: TEXT,
  finish_reason: { enum: ['stop', 'length'] },
  usage: record({ prompt_tokens: WHOLE, completion_tokens: WHOLE, total_tokens: WHOLE }),
})
