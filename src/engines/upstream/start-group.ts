import { ModelyardError } from '../../base/errors.ts'
import { ServerGroup, type ServerGroupOptions } from './server-group.ts'

/** Others may take a port between its choice and its use. */
const TRIES = 3
/** What programs say then: Node, Python, C++ and Go. */
const PORT_TAKEN = /EADDRINUSE|address (is )?already in use|couldn'?t bind/i

/** Starts a server for a model, on other ports where one was lost. @throws ModelyardError `model_load_failed`, `aborted` */
export async function startGroup(options: ServerGroupOptions): Promise<ServerGroup> {
  for (let tries = TRIES; ; tries--) {
    try {
      return await ServerGroup.start(options)
    } catch (error) {
      if (!hasLostPort(error) || options.signal.aborted) throw error
      if (tries <= 1) throw portTaken(options.model, error)
    }
  }
}

function hasLostPort(error: unknown): error is ModelyardError {
  if (!(error instanceof ModelyardError) || error.code !== 'model_load_failed') return false
  const { logTail } = error.details as { logTail?: string[] }
  return logTail?.some((line) => PORT_TAKEN.test(line)) === true
}

function portTaken(model: string, { details }: ModelyardError): ModelyardError {
  const message = `"${model}" could not be loaded: ${TRIES} times something else had a port of its server, as its log says. Let its command serve on {port}, and try again.`
  return new ModelyardError('model_load_failed', message, { details: { ...details, failure: 'port' } })
}
