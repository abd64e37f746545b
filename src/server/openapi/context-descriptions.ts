import type { JsonSchema } from '../../base/shape.ts'
import { ADMIN, BAD, type Descriptions } from './route-description.ts'
import { FLAG, list, NUMBER, record, TEXT, WHOLE } from './schema-words.ts'

const BEGINNING: JsonSchema = record(
  { model: TEXT },
  { messages: list({ type: 'object' }), tools: list({ type: 'object' }), prompt: TEXT },
)

const WARMED: JsonSchema = record({
  model: TEXT,
  tokens: WHOLE,
  cachedTokens: WHOLE,
  took: NUMBER,
  kept: FLAG,
})

const CONTEXTS: JsonSchema = record({ contexts: list({ type: 'object' }) })

const CONTEXTS_TO_REMOVE: JsonSchema = record({}, { ids: list(TEXT), model: TEXT })

const REMOVED: JsonSchema = record({ removed: WHOLE })

/** Contexts on disk, and beginnings evaluated ahead. */
export const CONTEXT_DESCRIPTIONS: Descriptions = {
  'GET /api/yard/contexts': {
    summary: 'Contexts that are parked on disk.',
    answer: CONTEXTS,
    errors: ADMIN,
  },
  'POST /api/yard/contexts/remove': {
    summary: 'Deletes parked contexts: those that are named, those of a model, or all.',
    body: CONTEXTS_TO_REMOVE,
    answer: REMOVED,
    errors: { ...BAD, 404: 'one of the ids, or the model, is not there; nothing was removed' },
  },
  'POST /api/yard/warm': {
    summary: 'Evaluates the beginning of conversations (messages, tools) or of prompts ahead, and keeps it.',
    body: BEGINNING,
    answer: WARMED,
    errors: { ...BAD, 404: 'no such model', 503: 'no memory now, or the load failed; Retry-After' },
  },
}
