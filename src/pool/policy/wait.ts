import { formatBytes } from '../../base/bytes.ts'
import { formatDuration } from '../../base/durations.ts'
import type { MemoryDomain } from '../../host/memory.ts'

/** What a ticket waits for, as numbers; {@link waitSentence} says it in words (R19). */
export type Wait =
  | { kind: 'slot'; instance: string; slots: number }
  | { kind: 'load'; instance: string; progress: number | undefined; since: number }
  | { kind: 'beginning'; instance: string; since: number }
  | { kind: 'concurrency'; runs: number; limit: number }
  | { kind: 'threads'; needed: number; active: number; limit: number; users: readonly string[] }
  | { kind: 'together'; uses: readonly string[]; holders: readonly string[] }
  | { kind: 'turn'; instance: string; of: string; since: number }
  | { kind: 'idle'; needs: number; domain: MemoryDomain; free: number; holders: readonly string[] }
  | { kind: 'evicting'; victims: readonly string[]; frees: number }
  | { kind: 'leaving'; instances: readonly string[]; bytes: number }
  | { kind: 'host'; domain: MemoryDomain; needed: number; available: number | undefined; until: number }
  | { kind: 'measuring' }
  | { kind: 'places'; large: number; limit: number; holders: readonly string[] }

const list = (names: readonly string[]): string => names.join(', ')

/** The wait in a sentence with numbers. `at` is now, on the pool's clock. */
export function waitSentence(wait: Wait, at: number): string {
  switch (wait.kind) {
    case 'slot':
      return `all ${wait.slots} slots of ${wait.instance} are in use`
    case 'load':
      return `${wait.instance} has been loading for ${formatDuration(at - wait.since)}${percentage(wait.progress)}`
    case 'beginning':
      return `the beginning it shares with another request has been computed on ${wait.instance} for ${formatDuration(at - wait.since)}, and is copied then`
    case 'concurrency':
      return `${wait.runs} of at most ${wait.limit} runs are active`
    case 'threads':
      return `it needs ${wait.needed} threads; ${wait.active} of ${wait.limit} are used by ${list(wait.users)}`
    case 'together':
      return `it uses ${list(wait.uses)}, which do not fit beside what ${list(wait.holders)} may ask for`
    case 'turn':
      return `${wait.instance} makes way for ${wait.of}, which has waited ${formatDuration(at - wait.since)}`
    default:
      return memorySentence(wait, at)
  }
}

type MemoryWait = Exclude<
  Wait,
  { kind: 'slot' | 'load' | 'beginning' | 'concurrency' | 'threads' | 'together' | 'turn' }
>

function memorySentence(wait: MemoryWait, at: number): string {
  switch (wait.kind) {
    case 'idle':
      return `it needs ${formatBytes(wait.needs)} of ${wait.domain}, ${formatBytes(Math.max(0, wait.free))} are free; waits until ${list(wait.holders)} can go`
    case 'evicting':
      return `${list(wait.victims)} is unloaded to free ${formatBytes(wait.frees)}`
    case 'leaving':
      return `${formatBytes(wait.bytes)} of ${list(wait.instances)} are not seen back yet`
    case 'host':
      return `${wait.domain} must have ${formatBytes(wait.needed)} free and has ${available(wait.available)}; tries for ${formatDuration(Math.max(0, wait.until - at))} more`
    case 'places':
      return `${wait.large} of at most ${wait.limit} large models are in memory: ${list(wait.holders)}`
    default:
      return 'the free memory of this machine is being read'
  }
}

function available(bytes: number | undefined): string {
  return bytes === undefined ? 'an amount that cannot be read' : formatBytes(bytes)
}

function percentage(progress: number | undefined): string {
  return progress === undefined ? '' : ` (${Math.round(progress * 100)} %)`
}
