import type { JsonSchema } from '../../base/shape.ts'
import { ADMIN, BAD, type Descriptions } from './route-description.ts'
import { COUNT, list, NUMBER, record, TEXT, TEXT_OR_NULL, WHOLE } from './schema-words.ts'

const RUN: JsonSchema = record({
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

const RUNS: JsonSchema = record({ runs: list(RUN) })

const EXPLANATION: JsonSchema = record(
  {
    subject: { enum: ['run', 'model'] },
    id: TEXT,
    model: TEXT,
    reasons: list(TEXT),
    events: list(record({ at: NUMBER, name: TEXT, text: TEXT })),
  },
  { run: RUN, state: { enum: ['preparing', 'waiting', 'running'] } },
)

/** Runs that ended, and why they went as they did. */
export const RUN_DESCRIPTIONS: Descriptions = {
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
      since: { ...COUNT, description: 'Milliseconds since 1970.' },
      until: { ...COUNT, description: 'Milliseconds since 1970.' },
      limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 100 },
    },
    answer: RUNS,
    errors: BAD,
  },
  'GET /api/yard/runs/*': {
    summary: 'One run, by its id (run_…) or that of its request (req_…).',
    answer: RUN,
    errors: { ...ADMIN, 404: 'no such run' },
  },
  'GET /api/yard/why/*': {
    summary: 'Why a run, a request or a model is as it is.',
    answer: EXPLANATION,
    errors: { ...ADMIN, 404: 'neither a run nor a request nor a model' },
  },
}
