import type { Part } from '../../tasks/part.ts'

/** Puts one message on the wire and calls back when the next may follow. */
export type SendParts = (parts: Part[], made: number, sent: () => void) => void

type TextPart = Part & { type: 'text' | 'reasoning' }

function isPlainText(part: Part | undefined): part is TextPart {
  return (part?.type === 'text' && part.logprobs === undefined) || part?.type === 'reasoning'
}

/** Adds a part; plain text joins the text before it, so that what queues up costs one message, not hundreds. */
function append(queue: Part[], part: Part): void {
  const last = queue.at(-1)
  if (isPlainText(part) && isPlainText(last) && last.type === part.type) {
    queue[queue.length - 1] = { type: part.type, text: last.text + part.text }
  } else queue.push(part)
}

/**
 * Parts on their way out. While nothing is being written a part leaves at once; what comes meanwhile leaves together with the
 * next write. So a slow stream has no delay and a fast one few messages, without any timer.
 */
export class Outbox {
  readonly #send: SendParts
  #queue: Part[] = []
  #made = 0
  #writing = false

  constructor(send: SendParts) {
    this.#send = send
  }

  add(part: Part): void {
    append(this.#queue, part)
    this.#made++
    if (!this.#writing) this.flush()
  }

  /** Sends what waits. Called once more before the run's last message, which must come after all parts. */
  flush(): void {
    if (this.#made === 0) return
    const parts = this.#queue
    const made = this.#made
    this.#queue = []
    this.#made = 0
    this.#writing = true
    this.#send(parts, made, () => {
      this.#writing = false
      this.flush()
    })
  }
}
