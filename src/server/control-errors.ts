import type { ModelyardError } from '../base/errors.ts'
import type { ErrorShape } from './exchange.ts'

/** Errors of the control API carry everything an operator may need. */
export const controlErrors: ErrorShape = {
  errorBody(
    { code, message, details, retryAfter }: ModelyardError,
    _status: number,
    requestId: string,
  ): string {
    return JSON.stringify({ error: { code, message, details, retryAfter: retryAfter ?? null, requestId } })
  },
}
