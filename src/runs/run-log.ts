/** A row of the activity log. No text of users. */
export interface RunRecord {
  id: string
  model: string
  instance: string | null
  kind: string
  /** Milliseconds since 1970. */
  startedAt: number
  queueMs: number
  loadMs: number
  prefillMs: number
  decodeMs: number
  totalMs: number
  promptTokens: number
  cachedTokens: number
  /** Milliseconds that those would have taken to compute, as prompts were measured before, less the time to read them from disk. */
  savedMs: number
  completionTokens: number
  /** A finish reason, or the code of the error that ended it. */
  outcome: string
  /** `req_…` of the HTTP request it was for. */
  request: string | null
  /** Why this slot, or what it waited for when it never had one (R19). */
  placement: string | null
  /** The sentence of the error that ended it, with its numbers. */
  error: string | null
}

/** Which runs are wanted; what is absent does not matter. */
export interface RunQuery {
  model?: string
  kind?: string
  outcome?: string
  /** Milliseconds since 1970, of their start. */
  since?: number
  until?: number
  /** Most rows. */
  limit: number
}

/** Where runs are written. Must not throw and must not block: a log that fails loses rows, never answers. */
export interface RunLog {
  append(record: RunRecord): void
}
