import type { ModelyardError } from '../../base/errors.ts'
import { transferError } from './download-error.ts'

const RETRYABLE = new Set([408, 425, 429, 500, 502, 503, 504])
/** A server that wants us to wait longer than this is told to the user instead. */
const LONGEST_WAIT = 60_000

/** An answer that is no success, as an error with a next step. */
export function statusError(
  url: URL,
  status: number,
  retryAfter: string | undefined,
  now: number,
): ModelyardError {
  const wait = parseRetryAfter(retryAfter, now)
  const patient = wait === undefined || wait <= LONGEST_WAIT
  return transferError(url, `${sentence(status)} (HTTP ${status})`, {
    retryable: RETRYABLE.has(status) && patient,
    status,
    ...(wait === undefined ? {} : { retryAfter: wait }),
  })
}

function sentence(status: number): string {
  if (status === 401 || status === 403) {
    return 'access refused. The model may be gated or private: accept its terms and set a token (HF_TOKEN), or check the name'
  }
  if (status === 404 || status === 410)
    return 'there is no such file or repository. Check the name and revision'
  if (status === 429) return 'too many requests'
  return status >= 500 ? 'the server failed' : 'the server refused the request'
}

/** `Retry-After` in milliseconds: seconds or a date. */
function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\d+$/.test(value.trim())) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
