import { Readable } from 'node:stream'

export interface KeyboardInput extends Readable {
  isTTY?: boolean
  isRaw?: boolean
  setRawMode?(raw: boolean): unknown
}

export interface KeyboardListener {
  /** Ctrl-C while an answer is being written. */
  interrupt(): void
  /** Text pasted as one piece, line breaks included. */
  paste(text: string): void
}

const CTRL_C = '\u0003'
const PASTE_START = '\u001B[200~'
const PASTE_END = '\u001B[201~'
const BRACKETED_PASTE_ON = '\u001B[?2004h'
const BRACKETED_PASTE_OFF = '\u001B[?2004l'

/**
 * Stands between the terminal and the line editor. While an answer is written (`hold`) keys are kept for the next prompt, except
 * Ctrl-C, which stops the answer; pasted text arrives as one piece, so that its line breaks do not send it line by line.
 */
export class Keyboard {
  /** What the line editor reads. */
  readonly keys: Readable = new Readable({ read: () => undefined })
  readonly #input: KeyboardInput
  readonly #listener: KeyboardListener
  readonly #onData = (data: Buffer | string): void => this.#receive(data.toString('utf8'))
  readonly #onEnd = (): void => void this.keys.emit('end')
  #held: string | undefined
  #pasted: string | undefined

  constructor(input: KeyboardInput, listener: KeyboardListener) {
    this.#input = input
    this.#listener = listener
    input.setEncoding('utf8')
    input.setRawMode?.(true)
    input.on('data', this.#onData).on('end', this.#onEnd)
  }

  /** The control codes that make the terminal mark pasted text, and stop it. */
  static readonly on: string = BRACKETED_PASTE_ON
  static readonly off: string = BRACKETED_PASTE_OFF

  hold(): void {
    this.#held ??= ''
  }

  /** Gives what was typed meanwhile to the line editor. */
  release(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined && held !== '') this.#receive(held)
  }

  close(): void {
    this.#input.off('data', this.#onData).off('end', this.#onEnd)
    this.#input.setRawMode?.(false)
    this.#input.pause()
  }

  /** Emitted, not pushed: keys and pasted text must reach the line editor in the order they came. */
  #type(text: string): void {
    if (text !== '') this.keys.emit('data', text)
  }

  #receive(text: string): void {
    if (this.#held !== undefined) this.#hold(text)
    else this.#separatePastes(text)
  }

  #hold(text: string): void {
    const last = text.lastIndexOf(CTRL_C)
    if (last === -1) {
      this.#held += text
      return
    }
    // As a terminal does it: an interrupt throws away what was typed ahead.
    this.#held = text.slice(last + 1)
    this.#listener.interrupt()
  }

  #separatePastes(text: string): void {
    if (this.#pasted !== undefined) {
      this.#continuePaste(text)
      return
    }
    const start = text.indexOf(PASTE_START)
    if (start === -1) {
      this.#type(text)
      return
    }
    this.#type(text.slice(0, start))
    this.#pasted = ''
    this.#continuePaste(text.slice(start + PASTE_START.length))
  }

  #continuePaste(text: string): void {
    const all = (this.#pasted ?? '') + text
    const end = all.indexOf(PASTE_END)
    this.#pasted = end === -1 ? all : undefined
    if (end === -1) return
    this.#listener.paste(all.slice(0, end).replaceAll(/\r\n?/g, '\n'))
    const rest = all.slice(end + PASTE_END.length)
    if (rest !== '') this.#separatePastes(rest)
  }
}
