import { setMaxListeners } from 'node:events'
import type { Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { likelihood } from '../../base/likelihood.ts'
import type { EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RerankTask } from '../../tasks/rerank-task.ts'
import type { LoadPlan } from '../engine.ts'
import { requireTextWithin } from '../llama-cpp/require-text-within.ts'
import { fitted } from '../llama-cpp/unit-vector.ts'
import { longPairField, requireTask, requireText } from '../task-checks.ts'
import type { ServerConnection } from '../supervision/server-connection.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Inputs that are sent at once: between two of these an abort is heard at once. */
const AT_ONCE = 16
/** Characters from which a text is judged before it is cut into tokens: some tokenizers drop spaces, so that shorter ones may still fit. */
const LONG_TEXT = 1_000_000

type PooledTask = EmbeddingTask | RerankTask

export interface PooledHost {
  plan: LoadPlan
  vocabulary: Vocabulary
  connection: ServerConnection
  clock: Clock
  moved: () => void
}

interface PooledInputs {
  promptTokens: number
  /** Parts of so many inputs at once. */
  batches: ((signal: AbortSignal) => Promise<Part[]>)[]
}

/** All inputs are checked before one is evaluated. */
export async function* runPooled(
  task: PooledTask,
  signal: AbortSignal,
  host: PooledHost,
): AsyncGenerator<Part, Result, void> {
  const { promptTokens, batches } = await inputsOf(task, host, signal)
  const begun = host.clock.now()
  yield { type: 'started', promptTokens, cachedTokens: 0 }
  for (const evaluate of batches) {
    const parts = await evaluate(signal)
    host.moved()
    yield* parts
  }
  return {
    finishReason: 'stop',
    usage: { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
    timings: { prefill: host.clock.now() - begun, decode: 0 },
  }
}

export async function countPooled(task: PooledTask, host: PooledHost, signal: AbortSignal): Promise<number> {
  return (await inputsOf(task, host, signal)).promptTokens
}

async function inputsOf(task: PooledTask, host: PooledHost, signal: AbortSignal): Promise<PooledInputs> {
  const { plan } = host
  requireTask(task, plan)
  // One for each request under way, and our own: Node warns of a leak from the eleventh on.
  setMaxListeners(2 * AT_ONCE, signal)
  return task.kind === 'embedding'
    ? await embeddingInputs(task, host, signal)
    : await rankingInputs(task, host, signal)
}

async function embeddingInputs(
  { inputs, dimensions }: EmbeddingTask,
  host: PooledHost,
  signal: AbortSignal,
): Promise<PooledInputs> {
  requireDimensions(dimensions, host.plan.facts.gguf?.embeddingLength ?? Infinity)
  const tokens = await each(inputs, async (input, index) => {
    const found = await tokensOf(requireText(input, index, host.plan), index, host, signal)
    requireLength(found.length, host.plan.contextSize, {
      what: `input ${index}`,
      index,
      param: `input[${index}]`,
    })
    return found
  })
  const batches = batchesOf(tokens).map(({ first, items }) => async (ended: AbortSignal): Promise<Part[]> => {
    const { data = [] } = (await host.connection.json('/v1/embeddings', { input: items }, ended)) as {
      data?: { index: number; embedding: number[] }[]
    }
    if (data.length !== items.length) throw missing()
    return data
      .toSorted((a, b) => a.index - b.index)
      .map(({ index, embedding }) => ({
        type: 'vector',
        index: first + index,
        vector: fitted(embedding, dimensions),
      }))
  })
  return { promptTokens: tokens.reduce((sum, { length }) => sum + length, 0), batches }
}

async function tokensOf(
  input: string | number[],
  index: number,
  { vocabulary, plan }: PooledHost,
  signal: AbortSignal,
): Promise<number[]> {
  const field = `input[${index}]`
  if (typeof input !== 'string') {
    vocabulary.requireTokens(input, field)
    return vocabulary.tokensWithBorders(input)
  }
  if (input.length > LONG_TEXT) requireTextWithin(plan.contextSize, vocabulary, [input], field)
  return await vocabulary.textWithBorders(input, signal)
}

/** The model reads each document together with the query; the server joins them as the model was trained to see them. */
async function rankingInputs(
  { query, documents }: RerankTask,
  host: PooledHost,
  signal: AbortSignal,
): Promise<PooledInputs> {
  const { vocabulary, plan, connection } = host
  if (query.length > LONG_TEXT) requireTextWithin(plan.contextSize, vocabulary, [query], 'query')
  const asked = (await vocabulary.textWithBorders(query, signal)).length
  const lengths = await each(documents, async (document, index) => {
    const param = longPairField(asked, plan.contextSize, index)
    if (query.length + document.length > LONG_TEXT)
      requireTextWithin(plan.contextSize, vocabulary, [query, document], param)
    const length = asked + (await vocabulary.textWithBorders(document, signal)).length
    const place = { index, param }
    requireLength(length, plan.contextSize, { what: `the query and document ${index} together`, ...place })
    return length
  })
  const batches = batchesOf(documents).map(
    ({ first, items }) =>
      async (ended: AbortSignal): Promise<Part[]> => {
        const { results = [] } = (await connection.json(
          '/v1/rerank',
          { query, documents: items },
          ended,
        )) as {
          results?: { index: number; relevance_score: number }[]
        }
        if (results.length !== items.length) throw missing()
        return results
          .toSorted((a, b) => a.index - b.index)
          .map(({ index, relevance_score: score }) => ({
            type: 'score',
            index: first + index,
            // The server gives the model's raw number; ours are from 0 to 1.
            score: likelihood(score),
          }))
      },
  )
  return { promptTokens: lengths.reduce((sum, length) => sum + length, 0), batches }
}

/** One after the other in short runs, so that a thousand inputs are no thousand connections. */
async function each<Item, Outcome>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Outcome>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { first, items: some } of batchesOf(items)) {
    outcomes.push(...(await Promise.all(some.map((item, index) => work(item, first + index)))))
  }
  return outcomes
}

function batchesOf<Item>(items: readonly Item[]): { first: number; items: Item[] }[] {
  return Array.from({ length: Math.ceil(items.length / AT_ONCE) }, (_, batch) => ({
    first: batch * AT_ONCE,
    items: items.slice(batch * AT_ONCE, (batch + 1) * AT_ONCE),
  }))
}

function requireDimensions(dimensions: number | undefined, length: number): void {
  if (dimensions === undefined || (dimensions >= 1 && dimensions <= length)) return
  const message = `This model's vectors have ${length} dimensions; ask for 1 to ${length}, not ${dimensions}.`
  throw new ModelyardError('invalid_request', message, { details: { param: 'dimensions' } })
}

function requireLength(
  tokens: number,
  contextSize: number,
  { what, index, param }: { what: string; index: number; param: string },
): void {
  if (tokens === 0)
    throw new ModelyardError('invalid_request', `Input ${index} is empty.`, { details: { param } })
  if (tokens <= contextSize) return
  throw new ModelyardError(
    'context_length_exceeded',
    `The maximum context length is ${contextSize} tokens, but ${what} has ${tokens}; shorten it.`,
    { details: { promptTokens: tokens, contextSize, index, param } },
  )
}

function missing(): ModelyardError {
  return new ModelyardError('engine_failed', 'The llama-server worker did not answer for every input.')
}
