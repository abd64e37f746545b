import { ModelyardError } from '../../base/errors.ts'

/** Why a transfer failed, as far as the next step depends on it. */
export interface TransferFailure {
  /** Another try may help. */
  retryable: boolean
  /** No connection came about at all. */
  unreachable?: boolean
  status?: number
  /** Milliseconds the server asks to wait. */
  retryAfter?: number
  cause?: unknown
}

/** A failed transfer; the address is shown without its query, which may hold a signature. */
export function transferError(url: URL, problem: string, failure: TransferFailure): ModelyardError {
  const { cause, retryAfter, ...details } = failure
  return new ModelyardError('download_failed', `${url.origin}${url.pathname}: ${problem}`, {
    details: { host: url.host, ...details },
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(cause === undefined ? {} : { cause }),
  })
}

export function isRetryable(error: unknown): boolean {
  return error instanceof ModelyardError && error.details['retryable'] === true
}

/** The remote file is not the one that was begun: what is there of it must be thrown away. */
export class RemoteFileChanged extends Error {
  override readonly name = 'RemoteFileChanged'
}
