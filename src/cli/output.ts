import { once } from 'node:events'
import type { Writable } from 'node:stream'
import picocolors from 'picocolors'
import { ModelyardError } from '../base/errors.ts'

type Colors = ReturnType<typeof picocolors.createColors>

interface TerminalLike {
  isTTY?: boolean
  columns?: number
}

/** One of the two places a command writes to. Writing waits while the reader is slow; a reader that has gone is no error. */
export class Output {
  readonly isTerminal: boolean
  readonly colors: Colors
  readonly #stream: Writable
  #gone = false
  #failure: ModelyardError | undefined

  constructor(stream: Writable, environment: Record<string, string | undefined> = {}) {
    this.#stream = stream
    this.isTerminal = (stream as TerminalLike).isTTY === true
    this.colors = picocolors.createColors(wantsColor(this.isTerminal, environment))
    stream.on('error', (error: NodeJS.ErrnoException) => {
      this.#gone = true
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') this.#failure ??= lost(error)
    })
  }

  /** Width for drawing; 80 where nothing is known. */
  get columns(): number {
    return (this.#stream as TerminalLike).columns ?? 80
  }

  /** For libraries that draw by themselves (progress bars, the line editor). */
  get stream(): Writable {
    return this.#stream
  }

  /** False once the reader has closed its end (`modelyard list | head -1`): nothing more needs to be made for it. */
  get open(): boolean {
    return !this.#gone
  }

  /** Why what was written did not arrive, once it is known; {@link flush} waits for that. */
  get failure(): ModelyardError | undefined {
    return this.#failure
  }

  async write(text: string | Uint8Array): Promise<void> {
    if (this.#gone || text.length === 0 || this.#stream.write(text)) return
    await Promise.race([once(this.#stream, 'drain'), once(this.#stream, 'close')]).catch(() => undefined)
  }

  async line(text = ''): Promise<void> {
    await this.write(`${text}\n`)
  }

  async json(value: unknown): Promise<void> {
    await this.line(JSON.stringify(value, null, 2))
  }

  /** Everything written so far is with the operating system. */
  async flush(): Promise<void> {
    if (this.#gone) return
    await new Promise<void>((resolve) => this.#stream.write('', () => resolve()))
  }
}

/** A disk that is full, most often (`modelyard list > /dev/full`): said in words, not by a crash. */
function lost(error: NodeJS.ErrnoException): ModelyardError {
  const message = `The output could not be written (${error.message}), and what is there is not whole.`
  return new ModelyardError(error.code === 'ENOSPC' ? 'disk_full' : 'internal', message, { cause: error })
}

/** NO_COLOR and FORCE_COLOR as their conventions say: any value but the empty one counts. */
export function wantsColor(
  isTerminal: boolean,
  environment: Record<string, string | undefined> = {},
): boolean {
  if ((environment.NO_COLOR ?? '') !== '') return false
  if ((environment.FORCE_COLOR ?? '') !== '') return environment.FORCE_COLOR !== '0'
  return isTerminal && environment.TERM !== 'dumb'
}
