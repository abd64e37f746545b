import type { Dispatcher } from 'undici'

/** Bytes that may wait to be taken; then the connection is paused. */
const MOST_WAITING = 256 * 1024
/** Bytes that are let pass after the end of what is wanted, so that the connection can be kept. */
const LONGEST_REST = 64 * 1024
/** Reads in which they may come: comments that keep a connection open are small. */
const MOST_READS = 16
/** Bytes in which shows what it is. */
const LONGEST_BEGINNING = 64

/** The body of an answer as it comes. Whoever reads takes all that is here, without a promise for each piece. */
export class ReplyBody implements AsyncIterable<Buffer> {
  readonly #controller: Dispatcher.DispatchController
  readonly #onOver: () => void
  #chunks: Buffer[] = []
  #waiting = 0
  /** Bytes that may still come although nobody wants them; undefined = all are wanted. */
  #rest: number | undefined
  #readsLeft = MOST_READS
  #isOver = false
  #error: Error | undefined
  #wake: (() => void) | undefined

  /** @param onOver called once, when nothing more comes */
  constructor(controller: Dispatcher.DispatchController, onOver: () => void) {
    this.#controller = controller
    this.#onOver = onOver
  }

  add(chunk: Buffer): void {
    if (this.#rest !== undefined) return this.#letPass(chunk)
    this.#chunks.push(chunk)
    this.#waiting += chunk.length
    if (this.#waiting > MOST_WAITING) this.#controller.pause()
    this.#wake?.()
  }

  #letPass(chunk: Buffer): void {
    this.#rest = (this.#rest ?? 0) - chunk.length
    this.#readsLeft--
    if (this.#rest < 0 || this.#readsLeft < 0)
      this.#controller.abort(new Error('The answer goes on after its end.'))
  }

  end(error?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#error = error
    this.#onOver()
    this.#wake?.()
  }

  /** All that is here; undefined when that is nothing. */
  take(): Buffer | undefined {
    const [first] = this.#chunks
    if (first === undefined) return undefined
    const bytes = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#waiting = 0
    this.#controller.resume()
    return bytes
  }

  /** How what is here begins; it stays to be taken. */
  beginsWith(pattern: RegExp): boolean {
    return pattern.test(this.#chunks[0]?.subarray(0, LONGEST_BEGINNING).toString('latin1') ?? '')
  }

  /** @returns true as soon as there is something to take, false at the end @throws what broke the connection */
  arrival(): boolean | Promise<boolean> {
    return this.#chunks.length > 0 || this.#isOver ? this.#hasMore() : this.#nextArrival()
  }

  async #nextArrival(): Promise<boolean> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    this.#wake = undefined
    return this.#hasMore()
  }

  #hasMore(): boolean {
    if (this.#chunks.length > 0) return true
    if (this.#error !== undefined) throw this.#error
    return false
  }

  /** All of it; undefined when there is more than so many bytes, of which no more is read then. @throws what broke the connection */
  async whole(most: number): Promise<Buffer | undefined> {
    const chunks: Buffer[] = []
    let length = 0
    while (length <= most) {
      const arrival = this.arrival()
      if (!(arrival instanceof Promise ? await arrival : arrival)) return Buffer.concat(chunks, length)
      const chunk = this.take() ?? Buffer.alloc(0)
      chunks.push(chunk)
      length += chunk.length
    }
    this.finish()
    return undefined
  }

  /** Nothing more is wanted. */
  finish(): void {
    this.#rest = LONGEST_REST
    this.#chunks = []
    this.#controller.resume()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    try {
      while (await this.arrival()) yield this.take() ?? Buffer.alloc(0)
    } finally {
      this.finish()
    }
  }
}
