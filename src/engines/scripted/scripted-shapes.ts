import { either, list, mapOf, object, oneOrMore, type Fields } from '../../base/compound-shapes.ts'
import type { ErrorCode } from '../../base/errors.ts'
import { anything, choice, filePath, number, size, text } from '../../base/scalar-shapes.ts'
import { described, report, type Shape } from '../../base/shape.ts'
import type { Usage } from '../../tasks/usage.ts'
import { CAPABILITIES, capabilitySwitches } from '../capability-switches.ts'
import type { LoadFailureClass } from '../engine.ts'
import { matchExpression } from './match-expression.ts'
import {
  type ScriptedOptions,
  type ScriptEntry,
  type ScriptPiece,
  type ScriptToolCall,
} from './scripted-options.ts'

const FAILURES: readonly LoadFailureClass[] = [
  'out_of_memory',
  'bad_file',
  'bad_option',
  'missing_engine',
  'port',
  'timeout',
  'crash',
  'aborted',
]

const ERROR_CODES: readonly ErrorCode[] = [
  'context_length_exceeded',
  'engine_failed',
  'insufficient_memory',
  'internal',
  'invalid_request',
  'model_load_failed',
  'queue_full',
  'shutting_down',
  'timeout',
  'unsupported',
  'worker_exited',
]

const milliseconds = (): Shape<number> => number({ min: 0 })
const count = (): Shape<number> => number({ min: 0, whole: true })
const place = (): Shape<number | 'prefill'> => either<[number, 'prefill']>(count(), choice('prefill'))

function toolCall(): Shape<ScriptToolCall> {
  const parts = either<[string, string[], Record<string, unknown>]>(
    text(),
    list(text()),
    mapOf(anything(), { pattern: /^/, wants: 'any name' }),
  )
  const call = object({ name: text(), arguments: parts, id: text() }, { required: ['name'] })
  return call as Shape<ScriptToolCall>
}

function piece(): Shape<ScriptPiece> {
  const alternative = object({ text: text(), logprob: number() }, { required: ['text', 'logprob'] })
  const full = object({
    text: text(),
    bytes: list(number({ min: 0, max: 255, whole: true })),
    hex: text({ pattern: /^(\s*[0-9a-fA-F]{2})*\s*$/, wants: 'pairs of hexadecimal digits' }),
    reasoning: text(),
    toolCall: toolCall(),
    delay: milliseconds(),
    logprob: number({ max: 0 }),
    top: list(alternative),
  })
  return either<[string, ScriptPiece]>(text(), full as Shape<ScriptPiece>)
}

function usage(): Shape<Partial<Usage>> {
  return object({
    promptTokens: count(),
    cachedTokens: count(),
    completionTokens: count(),
    reasoningTokens: count(),
  })
}

/** A text that is a regular expression; a wrong one is refused with the configuration, not at the first request. */
function expression(): Shape<string> {
  const any = text()
  return {
    ...any,
    read(value, path, context) {
      const read = any.read(value, path, context)
      try {
        matchExpression(read)
        return read
      } catch (error) {
        return report(context, path, `is not a regular expression: ${(error as Error).message}`)
      }
    },
  }
}

const pieces = (): Shape<string | ScriptPiece[]> => either<[string, ScriptPiece[]]>(text(), list(piece()))

const entryFields: Record<keyof ScriptEntry, Shape<unknown>> = {
  match: described(
    expression(),
    'Regular expression on the last user text; /…/i gives flags. Absent: always.',
  ),
  after: choice('system', 'user', 'assistant', 'tool'),
  text: described(pieces(), 'A list of tokens, or a text that is cut into words.'),
  reasoning: pieces(),
  toolCalls: list(toolCall()),
  parts: list(piece()),
  echo: choice('user', 'prompt', 'slot'),
  repeat: number({ min: 0, max: 100_000, whole: true }),
  delay: described(milliseconds(), 'Milliseconds before each token.', 0),
  firstDelay: described(milliseconds(), 'Milliseconds before the first token.'),
  prefill: described(milliseconds(), 'Milliseconds that the prompt takes.', 0),
  logprobs: list(number({ max: 0 })),
  finishReason: choice('stop', 'stop-sequence', 'length', 'tool-calls', 'abort', 'timeout'),
  error: object(
    { at: place(), message: text(), code: choice(...ERROR_CODES), retryAfter: milliseconds() },
    { required: ['message'] },
  ),
  exitAt: place(),
  hangAt: place(),
  usage: usage(),
  vector: list(number(), { min: 1 }),
  score: number({ min: 0, max: 1 }),
}

/** The list of answers, as it stands in a script file too. One entry may stand alone. */
export const scriptShape: Shape<ScriptEntry[]> = oneOrMore(object(entryFields)) as Shape<ScriptEntry[]>

/** Sizes per domain; a lone size is the host's memory. */
function memory(): Shape<Record<string, number>> {
  const domains = mapOf(size(), { pattern: /^(ram|gpu:\d+)$/, wants: '"ram" or a device such as "gpu:0"' })
  const either_ = either<[number, Record<string, number>]>(size(), domains)
  return {
    ...either_,
    read(value, path, context) {
      const sizes = either_.read(value, path, context)
      return typeof sizes === 'number' ? { ram: sizes } : sizes
    },
  }
}

const failLoad = object(
  { class: choice(...FAILURES), message: text(), times: count() },
  { required: ['class', 'message'] },
)

/** Options that only this engine knows, by name, for the configuration's check. */
export const scriptedOptionFields: Record<keyof ScriptedOptions, Shape<unknown>> = {
  memory: described(memory(), 'Declared memory; nothing is really allocated.', '1MiB'),
  loadTime: described(milliseconds(), 'Milliseconds that a load takes.', 0),
  script: described(
    either<[string, ScriptEntry[]]>(filePath(), scriptShape),
    'The answers, first hit wins: a list, or a YAML or JSON file with it.',
  ),
  failLoad,
  capabilities: capabilitySwitches(['chat', 'completion', 'embedding', 'rerank'], CAPABILITIES),
  dimensions: described(number({ min: 1, max: 65_536, whole: true }), 'Length of embedding vectors.', 384),
  vocabularySize: number({ min: 1, whole: true }),
}

export const scriptedOptionsShape: Shape<ScriptedOptions> = object(
  scriptedOptionFields as Fields,
) as Shape<ScriptedOptions>
