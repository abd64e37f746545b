import { createInterface, type Interface } from 'node:readline'
import type { Writable } from 'node:stream'
import { onAbort } from '../../base/abort.ts'
import { Keyboard, type KeyboardInput } from './keyboard.ts'

/** What came from the person at the keyboard. */
export type Typed =
  /** `pasted`: a line break inside pasted text ended it, not the person. */
  | { type: 'line'; text: string; pasted: boolean }
  /** Ctrl-C at the prompt; `empty`: there was nothing on the line. */
  | { type: 'interrupt'; empty: boolean }
  /** Ctrl-D, the end of the input, or the program is to end. */
  | { type: 'end' }

export interface LineEditorOptions {
  input: KeyboardInput
  output: Writable
  /** Newest first. */
  history: string[]
  complete: (line: string) => [string[], string]
  /** Ctrl-C while an answer is written. */
  onInterrupt: () => void
  signal: AbortSignal
}

/** Lines from a terminal with editing, history and completion; plain lines from a pipe. */
export class LineEditor {
  readonly #readline: Interface
  readonly #keyboard: Keyboard | undefined
  readonly #output: Writable
  readonly #arrived: Typed[] = []
  readonly #stopListening: () => void
  #waiting: ((typed: Typed) => void) | undefined
  #pasting = false
  #ended = false

  constructor(options: LineEditorOptions) {
    const { input, output, history, complete, onInterrupt } = options
    const terminal = input.isTTY === true
    this.#output = output
    this.#keyboard = terminal
      ? new Keyboard(input, { interrupt: onInterrupt, paste: (text) => this.#paste(text) })
      : undefined
    this.#readline = createInterface({
      input: this.#keyboard?.keys ?? input,
      ...(terminal && { output, history, completer: complete }),
      terminal,
      historySize: 1000,
      removeHistoryDuplicates: true,
    })
    if (terminal) output.write(Keyboard.on)
    this.#listen()
    this.#stopListening = onAbort(options.signal, () => this.close())
  }

  /** Waits for the next line. `prompt` is shown on a terminal only. */
  async read(prompt: string): Promise<Typed> {
    const next = this.#arrived.shift()
    if (next !== undefined) return next
    if (this.#ended) return { type: 'end' }
    return await new Promise((resolve) => {
      this.#waiting = resolve
      if (this.#keyboard === undefined) return
      this.#readline.setPrompt(prompt)
      this.#readline.prompt()
      this.#keyboard.release()
    })
  }

  /** Until the next `read`, keys wait and Ctrl-C goes to `onInterrupt`. */
  hold(): void {
    this.#keyboard?.hold()
  }

  /** Gives the terminal back as it was. Twice is harmless. */
  close(): void {
    if (this.#ended) return
    this.#ended = true
    this.#stopListening()
    this.#readline.close()
    this.#keyboard?.close()
    if (this.#keyboard !== undefined) this.#output.write(Keyboard.off)
    this.#deliver({ type: 'end' })
  }

  #listen(): void {
    this.#readline
      .on('line', (text) => this.#deliver({ type: 'line', text, pasted: this.#pasting }))
      .on('SIGINT', () => this.#interrupt())
      .on('close', () => this.close())
  }

  #deliver(typed: Typed): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) this.#arrived.push(typed)
    else waiting(typed)
  }

  #interrupt(): void {
    const empty = this.#readline.line === ''
    // To the end of the line, then everything before it: what was typed is dropped.
    this.#readline.write(null, { ctrl: true, name: 'e' })
    this.#readline.write(null, { ctrl: true, name: 'u' })
    this.#output.write('^C\n')
    this.#deliver({ type: 'interrupt', empty })
  }

  #paste(text: string): void {
    this.#pasting = true
    this.#readline.write(text)
    this.#pasting = false
  }
}
