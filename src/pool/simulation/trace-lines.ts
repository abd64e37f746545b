import { either, mapOf, object } from '../../base/compound-shapes.ts'
import { choice, flag, number, size, text } from '../../base/scalar-shapes.ts'
import type { Shape } from '../../base/shape.ts'
import type { MemoryDomain } from '../../host/memory.ts'
import type { Priority } from '../limits.ts'

/*
 * A trace is JSONL: the first line says what machine it is, others describe models, all others are requests, in any order. Numbers are
 * milliseconds and bytes; bytes may also be written `"6 GiB"`.
 */

/** The version of the format, in every first line. */
export const TRACE_VERSION = 1 as const

type BytesByDomain = Partial<Record<MemoryDomain, number>>

/** The machine, and what the yard may do on it. What is absent is as by default. */
export interface HeaderLine {
  modelyardTrace?: number
  /** Bytes that may be used for models. */
  memory?: BytesByDomain
  /** Bytes there are. Default: twice as many. */
  host?: BytesByDomain
  headroom?: number
  maxLargeModels?: number
  smallModel?: number
  concurrency?: number
  queue?: number
  queuePerModel?: number
  threads?: number
  swapPatience?: number
  /** Bytes of disk for parked contexts, or `true`: as much as there is. Default none: nothing is parked. */
  contexts?: number | boolean
}

/** A model as the simulation needs to know it. */
export interface ModelLine {
  id?: string
  /** What a copy takes; a number is bytes of ram. */
  bytes?: number | BytesByDomain
  /** Default 5000. */
  loadTime?: number
  warmUpTime?: number
  unloadTime?: number
  slots?: number
  threads?: number
  minInstances?: number
  maxInstances?: number
  /** −1: for ever. */
  keepAlive?: number
  pinned?: boolean | 'soft'
  contextSize?: number
  /** Its slots can be written to disk; while they answer as well. Default false. */
  parks?: boolean
  savesWhileAnswering?: boolean
  /** What a token of a prompt takes to compute, and on disk; counted for requests that say how many they have. */
  prefillPerToken?: number
  bytesPerToken?: number
}

/** A request; see `TraceRequest`. */
export interface RequestLine {
  at?: number
  model?: string
  hold?: number
  priority?: Priority
  conversation?: string
  turn?: number
  beginning?: { of?: string; tokens?: number }
  think?: number
  timeout?: number
  /** Of its prompt, and how many of them were not computed within `hold`. */
  tokens?: number
  cached?: number
  /** How much of `hold` went into writing and reading contexts. */
  disk?: number
}

const milliseconds = number({ min: 0 })
const count = number({ min: 0, whole: true })
const some = number({ min: 1, whole: true })
const bytesByDomain: Shape<BytesByDomain> = mapOf(size(), {
  pattern: /^(ram|gpu:\d+)$/,
  wants: 'ram, gpu:0, …',
})

export const headerLine: Shape<HeaderLine> = object(
  {
    modelyardTrace: choice<number>(TRACE_VERSION),
    memory: bytesByDomain,
    host: bytesByDomain,
    headroom: size(),
    maxLargeModels: count,
    smallModel: size(),
    concurrency: some,
    queue: count,
    queuePerModel: count,
    threads: some,
    swapPatience: milliseconds,
    contexts: either(flag(), size()),
  },
  { required: ['modelyardTrace', 'memory'] },
)

const model: Shape<ModelLine> = object(
  {
    id: text(),
    bytes: either(size(), bytesByDomain),
    loadTime: milliseconds,
    warmUpTime: milliseconds,
    unloadTime: milliseconds,
    slots: some,
    threads: count,
    minInstances: count,
    maxInstances: some,
    keepAlive: number({ min: -1 }),
    pinned: either(flag(), choice('soft')),
    contextSize: some,
    parks: flag(),
    savesWhileAnswering: flag(),
    prefillPerToken: milliseconds,
    bytesPerToken: size(),
  },
  { required: ['id', 'bytes'] },
)

export const modelLine: Shape<{ model?: ModelLine }> = object({ model })

export const requestLine: Shape<RequestLine> = object(
  {
    at: milliseconds,
    model: text(),
    hold: milliseconds,
    priority: choice<Priority>('interactive', 'normal', 'background'),
    conversation: text(),
    turn: count,
    beginning: object({ of: text(), tokens: some }, { required: ['of', 'tokens'] }),
    think: milliseconds,
    timeout: milliseconds,
    tokens: count,
    cached: count,
    disk: milliseconds,
  },
  { required: ['at', 'model', 'hold'] },
)
