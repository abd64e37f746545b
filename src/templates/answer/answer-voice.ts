import { createId } from '../../base/ids.ts'
import type { Part } from '../../tasks/part.ts'

/** Ids shorter than this are numbers that begin anew with each answer. */
const LEAST_ID = 8

/** Puts together the parts of an answer: neighbours of one kind are one part, and white space around what is no text is none. */
export class AnswerVoice {
  /** White space is text as long as nothing but text has come. */
  readonly #keepsSpace: boolean
  #parts: Part[] = []
  #calls = 0
  #hasArguments = false
  /** Nothing but white space since the answer, or what was no text, began. */
  #isFresh = true
  #space = ''

  constructor(keepsSpace: boolean) {
    this.#keepsSpace = keepsSpace
  }

  /** Calls that have begun. */
  get calls(): number {
    return this.#calls
  }

  get isFresh(): boolean {
    return this.#isFresh
  }

  /** What has come since the last time. */
  take(): Part[] {
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  say(text: string): void {
    if (!this.#isFresh) {
      if (text !== '') this.#add({ type: 'text', text })
      return
    }
    this.#space += text
    if (this.#space.trim() === '') return
    const whole = this.#isFirst ? this.#space : this.#space.trimStart()
    this.#add({ type: 'text', text: whole })
    this.#isFresh = false
    this.#space = ''
  }

  think(text: string): void {
    if (text !== '') this.#add({ type: 'reasoning', text })
  }

  beginCall(name: string, id: string | undefined): void {
    this.#hasArguments = false
    const kept = id !== undefined && id.length >= LEAST_ID ? id : createId('call_')
    this.#parts.push({ type: 'tool-call', index: this.#calls++, id: kept, name })
  }

  addArguments(text: string): void {
    if (text === '') return
    this.#hasArguments = true
    this.#add({ type: 'tool-call-arguments', index: this.#calls - 1, text })
  }

  endCall(): void {
    if (!this.#hasArguments) this.addArguments('{}')
  }

  /** What was no text is over. */
  freshen(): void {
    this.#isFresh = true
    this.#space = ''
  }

  /** The answer is over. */
  end(): void {
    if (this.#space !== '' && this.#isFirst) this.#add({ type: 'text', text: this.#space })
    this.#space = ''
  }

  get #isFirst(): boolean {
    return this.#calls === 0 && this.#keepsSpace
  }

  #add(part: Part & { text: string }): void {
    const last = this.#parts.at(-1)
    const joins = last !== undefined && last.type === part.type && 'text' in last
    if (joins && indexOf(last) === indexOf(part)) last.text += part.text
    else this.#parts.push(part)
  }
}

function indexOf(part: Part): number {
  return part.type === 'tool-call-arguments' ? part.index : 0
}
