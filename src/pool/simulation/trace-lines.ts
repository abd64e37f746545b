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
}

/** A request; see `TraceRequest`. */
export interface RequestLine {
  at?: number
  model?: string
  hold?: number
  priority?: Priority
  conversation?: string
  turn?: number
  think?: number
  timeout?: number
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
    think: milliseconds,
    timeout: milliseconds,
  },
  { required: ['at', 'model', 'hold'] },
)
