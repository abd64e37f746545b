import { devicesAmong } from '../../host/memory.ts'
import type { LoadPlan } from '../engine.ts'

/**
 * How fast prompts were evaluated here, in tokens a second. It decides how much the next load evaluates at once, and spares its warm-up the
 * measuring. Must not throw: a store that fails forgets.
 */
export interface PrefillSpeeds {
  speed(key: string): number | undefined
  noteSpeed(key: string, tokensPerSecond: number): void
}

/** Speeds that end with the process. */
export class RememberedSpeeds implements PrefillSpeeds {
  readonly #known = new Map<string, number>()

  speed(key: string): number | undefined {
    return this.#known.get(key)
  }

  noteSpeed(key: string, tokensPerSecond: number): void {
    this.#known.set(key, tokensPerSecond)
  }
}

/** What a speed holds for: these weights, on this many threads, with a GPU or without. */
export function speedKey(contentId: string, threads: number, onGpu: boolean): string {
  return `${contentId}:${onGpu ? 'gpu' : threads}`
}

export function speedKeyOf({ facts, threads, footprint }: LoadPlan): string {
  return speedKey(facts.contentId, threads, devicesAmong(footprint).length > 0)
}
