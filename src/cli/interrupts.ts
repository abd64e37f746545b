import { ModelyardError } from '../base/errors.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'

type SignalName = 'SIGINT' | 'SIGTERM'

/** The part of `process` that is needed, so that tests can send signals to nobody. */
export interface SignalSource {
  on(name: SignalName, listener: () => void): unknown
}

/** First SIGINT or SIGTERM: `signal` fires and the command winds up. A second one: `leave` at once. */
export class Interrupts {
  readonly #controller = new AbortController()
  readonly #leave: (code: ExitCode) => void
  #received: SignalName | undefined

  constructor(source: SignalSource, leave: (code: ExitCode) => void) {
    this.#leave = leave
    for (const name of ['SIGINT', 'SIGTERM'] as const) source.on(name, () => this.#receive(name))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** What a command that was interrupted exits with; undefined while nothing came. */
  get exitCode(): ExitCode | undefined {
    return this.#received && codeOf(this.#received)
  }

  /** What a command ends with whose own code is this one: it was ended early by a signal, and says which. */
  codeFor(code: ExitCode): ExitCode {
    return code === EXIT.interrupted ? (this.exitCode ?? code) : code
  }

  #receive(name: SignalName): void {
    if (this.#received !== undefined) {
      this.#leave(codeOf(name))
      return
    }
    this.#received = name
    this.#controller.abort(new ModelyardError('aborted', 'Interrupted.'))
  }
}

function codeOf(name: SignalName): ExitCode {
  return name === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
}
