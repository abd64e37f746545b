import type { ErrorCode, ModelyardError } from '../base/errors.ts'
import type { Feature } from '../runs/unsupported-feature.ts'

/** The one table from codes to statuses. A client that left is logged as 499; nobody is there to read it. */
const STATUS: Record<ErrorCode, number> = {
  aborted: 503,
  checksum_mismatch: 502,
  config_invalid: 500,
  context_length_exceeded: 400,
  disk_full: 507,
  download_failed: 502,
  engine_failed: 500,
  engine_missing: 501,
  forbidden: 403,
  home_in_use: 500,
  insufficient_memory: 503,
  internal: 500,
  invalid_request: 400,
  method_not_allowed: 405,
  model_file_invalid: 500,
  model_load_failed: 503,
  model_not_found: 404,
  model_too_large: 507,
  not_found: 404,
  payload_too_large: 413,
  queue_full: 429,
  request_crashes_worker: 500,
  run_cut: 503,
  shutting_down: 503,
  slow_reader: 408,
  timeout: 504,
  unauthorized: 401,
  unsupported: 400,
  unsupported_media_type: 415,
  worker_exited: 503,
}

/** Trying these again as they are cannot help; official SDKs repeat every 5xx unless told not to. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'config_invalid',
  'engine_missing',
  'model_file_invalid',
  'model_too_large',
  'request_crashes_worker',
  'unsupported',
])

/**
 * What an engine lacks, whatever model it runs: a 501. What a model lacks (images, tools) is a 400, since the request suits another
 * model (E1, BR-10).
 */
const ENGINE_FEATURES: ReadonlySet<unknown> = new Set<Feature>([
  'structured-output',
  'grammar',
  'logprobs',
  'prefill',
  'echo',
  'prompt-logprobs',
  'logit-bias',
])

/** HTTP status of an error; `details.httpStatus` (set by the edge itself) is more exact than the code where it is there. */
export function errorStatus(error: ModelyardError): number {
  const exact = error.details['httpStatus']
  if (typeof exact === 'number') return exact
  if (error.code === 'unsupported' && ENGINE_FEATURES.has(error.details['feature'])) return 501
  return STATUS[error.code]
}

/** Headers that tell a client whether and when to try again. */
export function retryHeaders(error: ModelyardError, status: number): Record<string, string> {
  if (PERMANENT.has(error.code)) return { 'x-should-retry': 'false' }
  if (status !== 429 && status !== 503 && status !== 529) return {}
  const milliseconds = Math.max(0, Math.ceil(error.retryAfter ?? 1000))
  return {
    'retry-after': String(Math.max(1, Math.ceil(milliseconds / 1000))),
    'retry-after-ms': String(milliseconds),
  }
}
