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
  completionTokens: number
  /** A finish reason, or the code of the error that ended it. */
  outcome: string
}

/** Where runs are written. Must not throw and must not block: a log that fails loses rows, never answers. */
export interface RunLog {
  append(record: RunRecord): void
}
