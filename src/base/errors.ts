/**
 * Every failure that leaves a module is a {@link ModelyardError} with one of these codes. The edge (server, dialects, CLI) maps
 * codes to statuses and exit codes; nothing below the edge knows HTTP.
 */
export type ErrorCode =
  | 'aborted' // the caller's signal fired
  | 'checksum_mismatch' // a download does not have the bytes that were promised
  | 'config_invalid'
  | 'context_length_exceeded' // prompt longer than the context; details: promptTokens, contextSize, isLeast where it has more
  | 'disk_full'
  | 'download_failed'
  | 'engine_failed' // the engine threw while running a task
  | 'engine_missing' // the engine's package or binary is not installed
  | 'forbidden'
  | 'home_in_use' // another yard owns this home; details: pid, url
  | 'insufficient_memory' // does not fit now (host or budget); details: need, limit/available in bytes
  | 'internal'
  | 'invalid_request' // details.param names the wrong field
  | 'method_not_allowed'
  | 'model_file_invalid' // corrupt, truncated or foreign model file
  | 'model_load_failed' // details: failure (LoadFailureClass), logTail
  | 'model_not_found' // details: nearest
  | 'model_too_large' // can never fit; details: need, limit, pinned, largestContext
  | 'not_found' // unknown route
  | 'payload_too_large'
  | 'queue_full' // details: queued, limit
  | 'request_crashes_worker' // the same request ended two workers
  | 'run_cut' // an operator's unload or a stop cut a running request
  | 'shutting_down'
  | 'slow_reader'
  | 'timeout'
  | 'unauthorized'
  | 'unsupported' // a documented thing that this model, engine or version cannot do; details.param
  | 'unsupported_media_type'
  | 'worker_exited'

export interface ModelyardErrorOptions {
  /** Numbers and names that explain the failure. Never users' text. Must be plain data: it crosses process borders. */
  details?: Record<string, unknown>
  /** Milliseconds after which another try makes sense; the edge sends it as `Retry-After`. */
  retryAfter?: number
  cause?: unknown
}

/** The plain-data form of an error that crosses a process border. */
export interface SerializedError {
  code: ErrorCode
  message: string
  details: Record<string, unknown>
  retryAfter?: number
}

/** The one error base: a stable code, a plain sentence with the numbers that matter and what to do next. */
export class ModelyardError extends Error {
  override readonly name = 'ModelyardError'
  readonly code: ErrorCode
  readonly details: Record<string, unknown>
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, options: ModelyardErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
    this.retryAfter = options.retryAfter
  }

  toJSON(): SerializedError {
    const plain: SerializedError = { code: this.code, message: this.message, details: this.details }
    return this.retryAfter === undefined ? plain : { ...plain, retryAfter: this.retryAfter }
  }

  static fromJSON(plain: SerializedError): ModelyardError {
    const { code, message, details, retryAfter } = plain
    return new ModelyardError(code, message, retryAfter === undefined ? { details } : { details, retryAfter })
  }
}

/** Any thrown value as a {@link ModelyardError}: kept when it is one, wrapped with `code` when it is not. */
export function toModelyardError(thrown: unknown, code: ErrorCode = 'internal'): ModelyardError {
  if (thrown instanceof ModelyardError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new ModelyardError(code, message, { cause: thrown })
}
