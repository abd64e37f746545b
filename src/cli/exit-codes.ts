import { ModelyardError, type ErrorCode } from '../base/errors.ts'

/** What a shell script can tell from `$?`. Documented in `docs/cli.md`; never renumbered. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  modelNotFound: 3,
  memory: 4,
  engineMissing: 5,
  modelUnusable: 6,
  download: 7,
  busy: 8,
  timeout: 9,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Complete by type: a new error code does not compile until it has its place here. */
const BY_ERROR_CODE: Record<ErrorCode, ExitCode> = {
  aborted: EXIT.interrupted,
  checksum_mismatch: EXIT.download,
  config_invalid: EXIT.usage,
  context_length_exceeded: EXIT.usage,
  disk_full: EXIT.download,
  download_failed: EXIT.download,
  engine_failed: EXIT.failure,
  engine_missing: EXIT.engineMissing,
  forbidden: EXIT.failure,
  home_in_use: EXIT.busy,
  insufficient_memory: EXIT.memory,
  internal: EXIT.failure,
  invalid_request: EXIT.usage,
  method_not_allowed: EXIT.failure,
  model_file_invalid: EXIT.modelUnusable,
  model_load_failed: EXIT.modelUnusable,
  model_not_found: EXIT.modelNotFound,
  model_too_large: EXIT.memory,
  not_found: EXIT.failure,
  payload_too_large: EXIT.usage,
  queue_full: EXIT.busy,
  request_crashes_worker: EXIT.failure,
  run_cut: EXIT.failure,
  shutting_down: EXIT.busy,
  slow_reader: EXIT.failure,
  timeout: EXIT.timeout,
  unauthorized: EXIT.failure,
  unsupported: EXIT.usage,
  unsupported_media_type: EXIT.failure,
  worker_exited: EXIT.failure,
}

/** A load that failed for want of memory or of an engine tells so, whatever wrapped it (R11). */
function byLoadFailure(error: ModelyardError): ExitCode | undefined {
  if (error.code !== 'model_load_failed') return undefined
  if (error.details.failure === 'out_of_memory') return EXIT.memory
  return error.details.failure === 'missing_engine' ? EXIT.engineMissing : undefined
}

export function exitCodeOf(error: ModelyardError): ExitCode {
  return byLoadFailure(error) ?? BY_ERROR_CODE[error.code]
}

/** Narrows a code that came over the wire. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(BY_ERROR_CODE, code)
}
