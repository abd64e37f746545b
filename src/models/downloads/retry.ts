import { type Clock, sleep } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { isRetryable } from './download-error.ts'

export interface RetryOptions {
  clock: Clock
  signal: AbortSignal
  /** Tries in a row without progress. Default 5. */
  attempts?: number
  /** Milliseconds before the second try; doubled each time, at most 30 s. Default 500. */
  firstDelay?: number
}

const LONGEST_DELAY = 30_000

/**
 * Tries again what failed for a passing reason, waiting longer each time or as long as the server asks. `progress` counts what has
 * been achieved: while it grows, the tries start anew.
 */
export async function withRetries<Value>(
  work: () => Promise<Value>,
  { clock, signal, attempts = 5, firstDelay = 500 }: RetryOptions,
  progress: () => number = () => 0,
): Promise<Value> {
  for (let failures = 0, achieved = progress(); ;) {
    try {
      return await work()
    } catch (error) {
      failures = progress() > achieved ? 1 : failures + 1
      achieved = progress()
      if (!isRetryable(error) || failures >= attempts) throw error
      await sleep(clock, delayOf(error, failures, firstDelay), signal)
    }
  }
}

function delayOf(error: unknown, failures: number, firstDelay: number): number {
  const asked = error instanceof ModelyardError ? error.retryAfter : undefined
  return asked ?? Math.min(LONGEST_DELAY, firstDelay * 2 ** (failures - 1))
}
