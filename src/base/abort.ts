import type { StopSignal } from './cancellation.ts'
import { ModelyardError } from './errors.ts'

const nothing = (): void => undefined

/** Calls `listener` when the signal fires (at once when it already has). The returned function takes the listener off again. */
export function onAbort(signal: StopSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return nothing
  if (signal.aborted) {
    listener()
    return nothing
  }
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** The reason of an aborted signal as a {@link ModelyardError}; foreign reasons become code `aborted`. */
export function abortError(signal: StopSignal | undefined): ModelyardError {
  const reason: unknown = signal?.reason
  if (reason instanceof ModelyardError) return reason
  return new ModelyardError('aborted', 'The request was aborted.', { cause: reason })
}

/** The work's outcome, or a rejection with the signal's reason as soon as that fires; the work itself goes on. */
export async function abortable<Outcome>(work: Promise<Outcome>, signal: StopSignal): Promise<Outcome> {
  let unlisten = nothing
  const aborted = new Promise<never>((_resolve, reject) => {
    unlisten = onAbort(signal, () => reject(abortError(signal)))
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    unlisten()
  }
}
