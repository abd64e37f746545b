import { closeSync, openSync, writeSync } from 'node:fs'
import { ModelyardError } from './base/errors.ts'

/** A file that a trace is recorded into, a line with each request. What cannot be written any more ends the recording, never the yard. */
export class TraceFile {
  readonly path: string
  readonly #onProblem: (message: string) => void
  #file: number | undefined

  /** @throws ModelyardError `config_invalid` when the file cannot be made */
  constructor(path: string, onProblem: (message: string) => void) {
    this.path = path
    this.#onProblem = onProblem
    try {
      this.#file = openSync(path, 'w', 0o600)
    } catch (error) {
      const { message } = error as Error
      const words = `The trace cannot be recorded into ${path} (${message}). Name a file in a folder that exists and may be written.`
      throw new ModelyardError('config_invalid', words, { cause: error })
    }
  }

  readonly write = (line: string): void => {
    if (this.#file === undefined) return
    try {
      writeSync(this.#file, `${line}\n`)
    } catch (error) {
      this.#onProblem(`The trace ${this.path} ends here: it cannot be written (${(error as Error).message}).`)
      this.close()
    }
  }

  close(): void {
    if (this.#file === undefined) return
    closeSync(this.#file)
    this.#file = undefined
  }
}
