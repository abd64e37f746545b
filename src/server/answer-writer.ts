import type { Deadlines, Wait } from '../base/deadlines.ts'
import type { RunEncoder } from '../dialects/dialect.ts'
import type { RunInfo } from '../runs/run.ts'
import type { Exchange, Headers } from './exchange.ts'
import { addRunHeaders } from './run-headers.ts'

/** Text gathered in one turn of the event loop is sent as one write, unless it grows past this. */
const BATCH = 16 * 1024

/**
 * Sends one run's answer. A stream's headers go out with its first text or with the first heartbeat; a plain answer goes out
 * whole. Never buffers more than one batch: whoever writes waits for `drained()` while `blocked` (P16).
 */
export class AnswerWriter {
  readonly #exchange: Exchange
  readonly #encoder: RunEncoder
  readonly #silences: Deadlines
  #silence: Wait | undefined
  #pending = ''
  #scheduled = false
  #blocked = false
  #silent = true
  #ended = false
  #info: RunInfo | undefined
  #waiting: () => string | undefined = () => undefined

  constructor(exchange: Exchange, encoder: RunEncoder, silences: Deadlines) {
    this.#exchange = exchange
    this.#encoder = encoder
    this.#silences = silences
    if (encoder.heartbeat !== undefined) this.#beatAfterSilence(encoder.heartbeat)
  }

  /** What a silent stream waits for, told with each heartbeat of a stream that has comments. */
  explain(waiting: () => string | undefined): void {
    this.#waiting = waiting
  }

  /** Facts for the headers, known when the first part has come. */
  begin(info: RunInfo): void {
    if (this.#info !== undefined) return
    this.#info = info
    if (this.begun) this.#encoder.headersWentEarly?.()
  }

  /** Whether the status is out, so that an error can only follow inside the stream. */
  get begun(): boolean {
    return this.#exchange.response.headersSent
  }

  /** Whether the client reads slower than the run writes. */
  get blocked(): boolean {
    return this.#blocked
  }

  write(piece: string | Uint8Array): void {
    if (typeof piece !== 'string') return this.#writeBytes(piece)
    if (piece === '') return
    this.#pending += piece
    if (this.#pending.length >= BATCH) this.#flush()
    else if (!this.#scheduled) {
      this.#scheduled = true
      // After all that is ready now, before any I/O: parts of one turn share a write.
      process.nextTick(this.#flushScheduled)
    }
  }

  #writeBytes(bytes: Uint8Array): void {
    this.#flush()
    if (bytes.length === 0 || this.#ended || this.#exchange.gone) return
    if (!this.begun) this.#exchange.writeHead(200, this.#headers())
    this.#silent = false
    this.#blocked = !this.#exchange.response.write(bytes)
  }

  /** Resolves when the client has read enough, or is gone. */
  drained(): Promise<void> {
    const { response } = this.#exchange
    if (!this.#blocked || response.destroyed) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        this.#blocked = false
        response.off('drain', done).off('close', done)
        resolve()
      }
      response.once('drain', done).once('close', done)
    })
  }

  end(text: string): void {
    this.stop()
    const body = this.#pending + text
    this.#pending = ''
    this.#ended = true
    if (this.#exchange.gone) return
    if (this.begun) this.#exchange.response.end(body)
    else this.#exchange.send(200, this.#encoder.contentType, body, this.#headers())
  }

  /** No more signs of life, nothing more to send: the answer is somebody else's from here. */
  stop(): void {
    if (this.#silence !== undefined) this.#silences.end(this.#silence)
    this.#ended = true
  }

  readonly #flushScheduled = (): void => {
    this.#scheduled = false
    this.#flush()
  }

  #flush(): void {
    if (this.#pending === '' || this.#ended || this.#exchange.gone) return
    if (!this.begun) this.#exchange.writeHead(200, this.#headers())
    this.#silent = false
    this.#blocked = !this.#exchange.response.write(this.#pending)
    this.#pending = ''
  }

  #headers(): Headers {
    const { contentType, streaming } = this.#encoder
    const headers: Headers = { 'content-type': contentType }
    if (streaming) {
      headers['cache-control'] = 'no-cache'
      headers['x-accel-buffering'] = 'no'
    }
    if (this.#info !== undefined) addRunHeaders(headers, this.#info)
    return headers
  }

  /** Server-sent events have comments, which no client takes for a part of the answer. */
  #comment(): string {
    const waiting = this.#encoder.contentType.startsWith('text/event-stream') ? this.#waiting() : undefined
    return waiting === undefined ? '' : `: ${waiting}\n`
  }

  #beatAfterSilence(beat: string): void {
    const silence = this.#silences.begin(() => {
      if (this.#ended) return
      if (this.#silent && !this.#blocked) {
        this.#pending += this.#comment() + beat
        this.#flush()
      }
      this.#silent = true
      this.#silences.renew(silence)
    })
    this.#silence = silence
  }
}
