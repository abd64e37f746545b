import type { StopSignal } from '../../base/cancellation.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { Lifetime } from '../lifetime.ts'
import type { Trouble } from './script.ts'

/** Lets happen what the script has go wrong: an error is thrown, an exit ends the process, a hang ends with the signal. */
export async function sufferTrouble(
  trouble: Trouble,
  lifetime: Lifetime,
  signal: StopSignal,
): Promise<never> {
  if (trouble.kind === 'error') throw troubleError(trouble)
  if (trouble.kind === 'exit') lifetime.crash()
  await lifetime.wait('for ever', signal)
  throw new ModelyardError('internal', 'A wait without an end came to an end.')
}

function troubleError({ code, message, retryAfter }: Trouble & { kind: 'error' }): ModelyardError {
  return new ModelyardError(code, message, retryAfter === undefined ? {} : { retryAfter })
}
