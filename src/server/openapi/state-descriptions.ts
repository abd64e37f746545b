import type { JsonSchema } from '../../base/shape.ts'
import { IDENTITY, KNOWN, LIST, PINNED } from './model-descriptions.ts'
import { ADMIN, BAD, type Descriptions } from './route-description.ts'
import {
  COUNT,
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

const DOMAIN: JsonSchema = record(
  { budget: NUMBER, absolute: NUMBER, booked: NUMBER, loading: NUMBER, resident: NUMBER, releasing: NUMBER },
  { host: record({ total: NUMBER, available: NUMBER, source: TEXT }) },
)

const STATE: JsonSchema = record({
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

const TELEMETRY: JsonSchema = record({
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

/** What the yard holds and does now, and did in the last minutes. */
export const STATE_DESCRIPTIONS: Descriptions = {
  'GET /api/yard/state': {
    summary: 'Models, instances with slots and leases, the queue with reasons, bytes per domain, threads.',
    answer: STATE,
    errors: ADMIN,
  },
  'GET /api/yard/events': {
    summary: 'Every decision with its reason, as server-sent events with ids; Last-Event-ID resumes.',
    answer: 'text/event-stream; charset=utf-8',
    errors: ADMIN,
  },
  'GET /api/yard/telemetry': {
    summary: 'Processors, devices, memory, queue and workers of the last ten minutes, every five seconds.',
    query: { since: { ...COUNT, description: 'Milliseconds since 1970: what was seen after it.' } },
    answer: TELEMETRY,
    errors: BAD,
  },
}
