import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { WholeText } from '../whole-text.ts'
import type { AnswerEnvelope, AnswerPiece } from './answer-shape.ts'
import { encodeErrorLine } from './encode-error.ts'
import { LINES, timestamp } from './lines.ts'
import { ToolCallGatherer } from './tool-call.ts'
import { doneJson, logprobsJson } from './usage.ts'

/** An answer of generate or chat as lines. Nothing but the open connection says that it is still waited for. */
export class AnswerLines implements RunEncoder {
  readonly streaming = true
  readonly contentType: string = LINES
  readonly fail: RunEncoder['fail'] = encodeErrorLine
  readonly #envelope: AnswerEnvelope
  readonly #head: string
  readonly #whole = new WholeText()
  readonly #wholeThinking = new WholeText()
  readonly #calls = new ToolCallGatherer()
  #text = ''

  constructor(envelope: AnswerEnvelope) {
    this.#envelope = envelope
    this.#head = `{"model":${JSON.stringify(envelope.model)},"created_at":"`
  }

  part(part: Part): string {
    switch (part.type) {
      case 'text':
        return this.#textLine(this.#whole.push(part.text), part.logprobs)
      case 'reasoning':
        return this.#thinkingLine(this.#wholeThinking.push(part.text))
      case 'tool-call':
        return this.#callLine(this.#calls.begin(part))
      case 'tool-call-arguments':
        this.#calls.add(part)
        return ''
      default:
        return ''
    }
  }

  #line(piece: AnswerPiece, end: string): string {
    const { now, shape } = this.#envelope
    return `${this.#head}${timestamp(now())}",${shape(piece)},${end}}\n`
  }

  #textLine(text: string, logprobs?: (Part & { type: 'text' })['logprobs']): string {
    if (this.#envelope.ending !== undefined) this.#text += text
    if (logprobs !== undefined)
      return this.#line({ text }, `"logprobs":${logprobsJson(logprobs)},"done":false`)
    return text === '' ? '' : this.#line({ text }, '"done":false')
  }

  #thinkingLine(thinking: string): string {
    return thinking === '' ? '' : this.#line({ text: '', thinking }, '"done":false')
  }

  #callLine(toolCalls: string | undefined): string {
    return toolCalls === undefined ? '' : this.#line({ text: '', toolCalls }, '"done":false')
  }

  end(result: Result, _task: number, info: RunInfo): string {
    const rest =
      this.#thinkingLine(this.#wholeThinking.end()) +
      this.#textLine(this.#whole.end()) +
      this.#callLine(this.#calls.end())
    const ending = this.#envelope.ending?.(this.#text) ?? ''
    return rest + this.#line({ text: '' }, doneJson(result, info) + ending)
  }

  finish(): string {
    return ''
  }
}
