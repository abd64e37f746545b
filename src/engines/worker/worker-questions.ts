import { abortError, onAbort } from '../../base/abort.ts'
import type { ModelyardError } from '../../base/errors.ts'
import type { CallValue } from './protocol.ts'

interface Question {
  resolve: (value: CallValue) => void
  reject: (error: ModelyardError) => void
}

/** Questions to a worker that wait for their answer, each under the id it was sent with. */
export class WorkerQuestions {
  readonly #open = new Map<number, Question>()

  get size(): number {
    return this.#open.size
  }

  /** Waits for the answer to `id`; a fired signal rejects at once, and `abandon` tells the worker. */
  async wait(id: number, signal: AbortSignal | undefined, abandon: () => void): Promise<CallValue> {
    let removeListener = (): void => undefined
    try {
      return await new Promise<CallValue>((resolve, reject) => {
        this.#open.set(id, { resolve, reject })
        removeListener = onAbort(signal, () => {
          abandon()
          reject(abortError(signal))
        })
      })
    } finally {
      removeListener()
      this.#open.delete(id)
    }
  }

  answer(id: number, value: CallValue): void {
    this.#open.get(id)?.resolve(value)
  }

  fail(id: number, error: ModelyardError): void {
    this.#open.get(id)?.reject(error)
  }

  failAll(error: ModelyardError): void {
    for (const question of this.#open.values()) question.reject(error)
  }
}
