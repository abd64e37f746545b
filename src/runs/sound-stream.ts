import type { Part, Result } from '../tasks/part.ts'
import type { Run, RunInfo } from './run.ts'

/** A sound on its way: iterate its bytes as they are made, or await all of them. */
export class SoundStream implements AsyncIterable<Uint8Array> {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  get info(): RunInfo {
    return this.#run.info
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, Result, void> {
    const { parts } = this.#run
    let ended = false
    try {
      for (;;) {
        const next: IteratorResult<Part, Result> = await parts.next()
        ended = next.done === true
        if (next.done === true) return next.value
        if (next.value.type === 'audio') yield next.value.data
      }
    } finally {
      if (!ended) await parts.return(undefined as never)
    }
  }

  /** The whole file. @throws ModelyardError as the run does */
  async bytes(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    for await (const piece of this) pieces.push(piece)
    return Buffer.concat(pieces)
  }
}
