import type { EngineCapabilities } from '../../engines/engine.ts'
import { checkModelName } from '../decode-model.ts'
import type { AnswerAction, DialectAction, DialectRequest } from '../dialect.ts'
import { invalidField } from '../fields.ts'
import { canAnswer } from '../model-list.ts'
import type { ModelListing } from '../yard-port.ts'

const MOST_PER_PAGE = 1000
const DEFAULT_PER_PAGE = 20

type Support = Record<string, unknown>

function support(supported: boolean, more: Support = {}): Support {
  return { supported, ...more }
}

const NONE = support(false)

/** What a model can do in the words of the API; what nothing here can do is false. */
function capabilitiesOf({ images, structuredOutput, reasoning }: EngineCapabilities): Support {
  const can = support(reasoning)
  const levels = { low: NONE, medium: NONE, high: NONE, xhigh: null, max: NONE }
  const edits = { clear_thinking_20251015: null, clear_tool_uses_20250919: null, compact_20260112: null }
  return {
    batch: NONE,
    citations: NONE,
    code_execution: NONE,
    context_management: support(false, edits),
    effort: support(false, levels),
    image_input: support(images),
    pdf_input: NONE,
    server_tools: support(false, { code_execution: NONE, web_search: NONE }),
    structured_outputs: support(structuredOutput),
    thinking: support(reasoning, {
      types: { adaptive: can, between_tools: NONE, disabled: can, enabled: can },
    }),
  }
}

function modelObject({ id, created, contextLength, capabilities }: ModelListing): Record<string, unknown> {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: contextLength,
    max_tokens: contextLength,
    capabilities: capabilities === null ? null : capabilitiesOf(capabilities),
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  }
}

interface PageRequest {
  limit: number
  after: string | null
  before: string | null
}

function decodePage(query: string): PageRequest {
  const params = new URLSearchParams(query)
  const limit = Number(params.get('limit') ?? DEFAULT_PER_PAGE)
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_PER_PAGE) {
    throw invalidField('limit', `'limit' must be an integer from 1 to ${MOST_PER_PAGE}.`)
  }
  return { limit, after: params.get('after_id'), before: params.get('before_id') }
}

/** A page after, or before, the model that is named; a name that is gone gives the first page. */
function pageOf(
  listings: readonly ModelListing[],
  { limit, after, before }: PageRequest,
): Record<string, unknown> {
  const end = before === null ? -1 : listings.findIndex(({ id }) => id === before)
  const start = end < 0 ? listings.findIndex(({ id }) => id === after) + 1 : Math.max(0, end - limit)
  const page = listings.slice(start, end < 0 ? start + limit : end)
  const more = end < 0 ? start + limit < listings.length : start > 0
  return {
    data: page.map(modelObject),
    has_more: more,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

function json(value: unknown): { contentType: string; body: string } {
  return { contentType: 'application/json', body: JSON.stringify(value) }
}

/** `GET /v1/models` when `anthropic-version` is sent. */
export function listModels({ query }: DialectRequest): AnswerAction {
  const page = decodePage(query)
  return {
    type: 'answer',
    answer: async (port) => json(pageOf((await port.listModels()).filter(canAnswer), page)),
  }
}

/** `GET /v1/models/{id}`; ids with slashes come raw or as %2F (BR-12). */
export function findModel({ params }: DialectRequest): DialectAction {
  const name = params['*'] ?? ''
  checkModelName(name)
  return { type: 'answer', answer: async (port) => json(modelObject(await port.findModel(name))) }
}
