import type { ModelyardError } from '../../src/base/errors.ts'
import type { Dialect, DialectRequest, RunAction } from '../../src/dialects/dialect.ts'
import type { RunInfo } from '../../src/runs/run.ts'
import type { Part, Result, TokenLogprob } from '../../src/tasks/part.ts'

/** One request, what the engine is scripted to give, and so what goes back. Each becomes one file of a dialect's `__fixtures__`. */
export interface TranscriptExchange {
  title: string
  /** Below the dialect's prefix. */
  path: string
  body: Record<string, unknown>
  parts?: Part[]
  result?: Result
  /** Instead of these where a request is several tasks: one entry for each. */
  runs?: { parts: Part[]; result?: Result }[]
  /** Thrown after the parts of the first task. */
  failure?: ModelyardError
  /** The headers went out before the first part. */
  early?: boolean
}

const INFO: RunInfo = {
  id: 'run_1',
  model: 'tiny',
  instance: 'tiny#1',
  slot: 0,
  queueMs: 12.34,
  loadMs: 250,
  promptTokens: 20,
  cachedTokens: 16,
}

export const STARTED: Part = { type: 'started', promptTokens: 20, cachedTokens: 16 }
export const TEXT: Part[] = [STARTED, { type: 'text', text: 'Hello' }, { type: 'text', text: ' there' }]

export const TWO_CALLS: Part[] = [
  STARTED,
  { type: 'tool-call', index: 0, id: 'call_a', name: 'get_time' },
  { type: 'tool-call-arguments', index: 0, text: '{"zone"' },
  { type: 'tool-call-arguments', index: 0, text: ':"UTC"' },
  { type: 'tool-call-arguments', index: 0, text: '}' },
  { type: 'tool-call', index: 1, id: 'call_b', name: 'get_time' },
  { type: 'tool-call-arguments', index: 1, text: '{}' },
]

export const THOUGHT: Part[] = [
  STARTED,
  { type: 'reasoning', text: 'They greet' },
  { type: 'reasoning', text: ' me.' },
  { type: 'text', text: 'Hello' },
]

export const EMOJI: Part[] = [
  STARTED,
  { type: 'text', text: 'a\uD83D' },
  { type: 'text', text: '\uDE38b\uD83D' },
]

export function result(fields: Partial<Result> = {}): Result {
  return {
    finishReason: 'stop',
    usage: { promptTokens: 20, cachedTokens: 16, completionTokens: 5, reasoningTokens: 0 },
    timings: { prefill: 8, decode: 50 },
    ...fields,
  }
}

export function logprob(text: string, value: number, top: [string, number][] = []): TokenLogprob {
  const bytes = (token: string): number[] => [...Buffer.from(token)]
  return {
    text,
    bytes: bytes(text),
    logprob: value,
    top: top.map(([token, other]) => ({ text: token, bytes: bytes(token), logprob: other })),
  }
}

/** A request of the dialect as the server would hand it over; its clock stands at 14 November 2023. */
export function dialectRequest(fields: Partial<DialectRequest>): DialectRequest {
  return {
    params: {},
    headers: {},
    body: undefined,
    id: '0123456789abcdef',
    created: 1_700_000_000,
    query: '',
    now: () => 1_700_000_000_123,
    ...fields,
  }
}

export function decodeRun(dialect: Dialect, path: string, body: unknown): RunAction {
  const route = dialect.routes.find((one) => one.path === path && one.method === 'POST')
  const action = route?.decode(dialectRequest({ body }))
  if (action?.type !== 'run') throw new Error(`${path} is no run`)
  return action
}

/** All bytes of the answer. */
export function answerText(
  dialect: Dialect,
  exchange: TranscriptExchange,
  { encoder, tasks }: RunAction,
): string {
  const { failure, early, runs = [exchange] } = exchange
  if (tasks.length !== runs.length) throw new Error(`${tasks.length} tasks, but ${runs.length} runs`)
  let text = ''
  for (const [task, { parts = [], result: ended }] of runs.entries()) {
    for (const [place, part] of parts.entries()) {
      if (place === 0 && early === true) encoder.headersWentEarly?.()
      text += encoder.part(part, task)
    }
    if (failure !== undefined) return text + encoder.fail(failure, dialect.errorStatus?.(failure) ?? 503)
    text += encoder.end(ended ?? result(), task, INFO)
  }
  return text + encoder.finish()
}

type TitledExchange = [title: string, exchange: TranscriptExchange]

/** For `it.each`. */
export const titled = (exchanges: readonly TranscriptExchange[]): TitledExchange[] =>
  exchanges.map((exchange) => [exchange.title, exchange])

function bytesAsText(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `bytes ${Buffer.from(value).toString('hex')}` : value
}

/** Request, task and answer on one sheet. */
export function transcript(dialect: Dialect, exchange: TranscriptExchange): string {
  const action = decodeRun(dialect, exchange.path, exchange.body)
  const { tasks, options, encoder } = action
  const answer = answerText(dialect, exchange, action)
  return [
    `POST ${dialect.prefixes[0]}${exchange.path}`,
    JSON.stringify(exchange.body, null, 2),
    ...(exchange.runs === undefined
      ? ['\n--- task', JSON.stringify({ task: tasks[0], options }, bytesAsText, 2)]
      : ['\n--- tasks', JSON.stringify({ tasks, options }, bytesAsText, 2)]),
    `\n--- ${encoder.contentType}`,
    encoder.streaming ? answer : JSON.stringify(JSON.parse(answer), null, 2),
    '',
  ].join('\n')
}
