import type { RunInfo } from './run.ts'

/** A run that has not ended, as it was begun; what it has come to is in `info`. */
export interface LiveRun {
  readonly info: Readonly<RunInfo>
  readonly kind: string
  /** Id of the HTTP request it is for. */
  readonly request: string | null
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

/** One of them for people and programs. Never a word of a user's text (F10). */
export interface ActivityStatus {
  run: string
  request: string | null
  model: string
  kind: string
  /** Preparing: its model's files are fetched or looked at. */
  state: 'preparing' | 'waiting' | 'running'
  /** While it waits, and after: what the queue calls it. */
  ticket: string | null
  instance: string | null
  /** Milliseconds since 1970. */
  startedAt: number
}

/** Runs under way, so that they can be asked about before they are in the log (R19). */
export class LiveRuns {
  readonly #runs = new Set<LiveRun>()

  /** @returns a function that tells its end */
  begin(run: LiveRun): () => void {
    this.#runs.add(run)
    return () => this.#runs.delete(run)
  }

  /** By its own id, or that of its request; of several for one request the one that was begun first. */
  find(name: string): LiveRun | undefined {
    return [...this.#runs].find(({ info, request }) => info.id === name || request === name)
  }

  /** In the order in which they were begun. */
  list(): ActivityStatus[] {
    return [...this.#runs].map(activityOf)
  }
}

export function activityOf({ info, kind, request, startedAt }: LiveRun): ActivityStatus {
  const { id, model, ticket = null, instance = null } = info
  const state = instance !== null ? 'running' : ticket !== null ? 'waiting' : 'preparing'
  return { run: id, request, model, kind, state, ticket, instance, startedAt }
}
