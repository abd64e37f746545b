import type { JsonSchema } from '../base/shape.ts'
import * as schemas from './control-schemas.ts'

/** What the OpenAPI document says of one route. */
export interface RouteDescription {
  summary: string
  /** Fields of the query. */
  query?: Record<string, JsonSchema>
  body?: JsonSchema
  /** JSON, or the content type of something else. */
  answer: JsonSchema | string
  /** Statuses of errors, and what each means here. */
  errors: Record<number, string>
}

const ADMIN = { 401: 'the key is missing or wrong', 403: 'a page or host that may not' }
const BAD = { ...ADMIN, 400: 'a field is missing, unknown or wrong; details.param names it' }
const INFERENCE = {
  ...BAD,
  400: 'a field is wrong, an input is too long or damaged, or the model cannot do it; details.param names the field',
  404: 'no such model',
  503: 'no memory now, or the load failed; Retry-After',
  507: 'can never fit',
}
const TEXT: JsonSchema = { type: 'string' }
const WHOLE: JsonSchema = { type: 'integer', minimum: 0 }

/** Every route of the control API by method and path; `*` is the rest of the path. */
export const CONTROL_DESCRIPTIONS: Readonly<Record<string, RouteDescription>> = {
  'GET /healthz': { summary: 'Whether the server lives.', answer: schemas.HEALTH, errors: {} },
  'GET /readyz': {
    summary: 'Whether requests are answered now: scheduler, database and every worker are asked.',
    answer: schemas.HEALTH,
    errors: { 503: 'not ready; reason says why' },
  },
  'GET /metrics': {
    summary: 'Measurements for Prometheus.',
    answer: 'text/plain; version=0.0.4; charset=utf-8',
    errors: ADMIN,
  },
  'GET /api/yard/openapi.json': { summary: 'This document.', answer: { type: 'object' }, errors: ADMIN },
  'GET /api/yard/state': {
    summary: 'Models, instances with slots and leases, the queue with reasons, bytes per domain, threads.',
    answer: schemas.STATE,
    errors: ADMIN,
  },
  'GET /api/yard/events': {
    summary: 'Every decision with its reason, as server-sent events with ids; Last-Event-ID resumes.',
    answer: 'text/event-stream; charset=utf-8',
    errors: ADMIN,
  },
  'GET /api/yard/plan/*': {
    summary: 'What loading a model would do now, without loading it.',
    answer: schemas.FORECAST,
    errors: { ...ADMIN, 404: 'no such model' },
  },
  'POST /api/yard/load': {
    summary: 'Brings a model into memory; answers when it is ready.',
    body: schemas.TARGET,
    answer: schemas.LOADED,
    errors: {
      ...BAD,
      404: 'no such model',
      503: 'no memory now, or the load failed; Retry-After',
      507: 'can never fit',
    },
  },
  'POST /api/yard/unload': {
    summary: 'Takes a model, or one instance, out of memory; answers when its bytes are back.',
    body: schemas.LEAVING_TARGET,
    answer: schemas.LOADED,
    errors: { ...BAD, 404: 'no such model' },
  },
  'GET /api/yard/models/*': {
    summary: 'A model with all that is known of it: its file, or what its endpoint says of it.',
    answer: schemas.DESCRIPTION,
    errors: { ...ADMIN, 404: 'no such model' },
  },
  'POST /api/yard/models/refresh': {
    summary: 'Asks the endpoints of all prefix* entries which models they have.',
    answer: schemas.LISTS,
    errors: ADMIN,
  },
  'POST /api/yard/pin': {
    summary: 'Keeps a model in memory once it is there, or lets it go again.',
    body: schemas.PIN,
    answer: schemas.PINNED_MODEL,
    errors: { ...BAD, 404: 'no such model' },
  },
  'GET /api/yard/settings': {
    summary: 'What can change while the server runs, with values and origins.',
    answer: schemas.SETTINGS,
    errors: ADMIN,
  },
  'PATCH /api/yard/settings': {
    summary: 'Changes settings; they count at once and are kept.',
    body: schemas.SETTING_CHANGES,
    answer: schemas.SETTINGS,
    errors: { ...BAD, 404: 'no such model' },
  },
  'GET /api/yard/runs': {
    summary: 'Runs that ended, newest first.',
    query: {
      model: TEXT,
      kind: {
        ...TEXT,
        description:
          'chat, completion, embedding, rerank, transcription, speech, classification, detection, captioning.',
      },
      outcome: { ...TEXT, description: 'A finish reason or an error code.' },
      since: { ...WHOLE, description: 'Milliseconds since 1970.' },
      until: { ...WHOLE, description: 'Milliseconds since 1970.' },
      limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 100 },
    },
    answer: schemas.RUNS,
    errors: BAD,
  },
  'GET /api/yard/runs/*': {
    summary: 'One run, by its id (run_…) or that of its request (req_…).',
    answer: schemas.RUN,
    errors: { ...ADMIN, 404: 'no such run' },
  },
  'GET /api/yard/why/*': {
    summary: 'Why a run, a request or a model is as it is.',
    answer: schemas.EXPLANATION,
    errors: { ...ADMIN, 404: 'neither a run nor a request nor a model' },
  },
  'GET /api/yard/telemetry': {
    summary: 'Processors, devices, memory, queue and workers of the last ten minutes, every five seconds.',
    query: { since: { ...WHOLE, description: 'Milliseconds since 1970: what was seen after it.' } },
    answer: schemas.TELEMETRY,
    errors: BAD,
  },
  'GET /api/yard/contexts': {
    summary: 'Contexts that are parked on disk.',
    answer: schemas.CONTEXTS,
    errors: ADMIN,
  },
  'POST /api/yard/contexts/remove': {
    summary: 'Deletes parked contexts: those that are named, those of a model, or all.',
    body: schemas.CONTEXTS_TO_REMOVE,
    answer: schemas.REMOVED,
    errors: { ...BAD, 404: 'one of the ids, or the model, is not there; nothing was removed' },
  },
  'POST /api/yard/warm': {
    summary: 'Evaluates the beginning of conversations (messages, tools) or of prompts ahead, and keeps it.',
    body: schemas.BEGINNING,
    answer: schemas.WARMED,
    errors: { ...BAD, 404: 'no such model', 503: 'no memory now, or the load failed; Retry-After' },
  },
  'POST /api/yard/classify': {
    summary:
      'What texts or images are: labels with scores, the likeliest first. Needs a key for inference only.',
    body: schemas.CLASSIFY,
    answer: schemas.CLASSIFIED,
    errors: INFERENCE,
  },
  'POST /api/yard/detect': {
    summary: 'What is on an image and where, in pixels; the likeliest first. Needs a key for inference only.',
    body: schemas.DETECT,
    answer: schemas.DETECTED,
    errors: INFERENCE,
  },
  'POST /api/yard/caption': {
    summary: 'What is on an image, or written on it, as a text. Needs a key for inference only.',
    body: schemas.CAPTION,
    answer: schemas.CAPTIONED,
    errors: INFERENCE,
  },
  'GET /api/yard/logs': {
    summary: "The end of a worker's output, and with follow what comes.",
    query: {
      instance: { ...TEXT, description: 'An instance, or a model.' },
      lines: { ...WHOLE, maximum: 10_000, default: 100 },
      follow: { enum: ['true', 'false'], default: 'false' },
    },
    answer: 'text/plain; charset=utf-8',
    errors: { ...BAD, 404: 'no such model, or it has no log' },
  },
}
