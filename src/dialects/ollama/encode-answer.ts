import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result, TokenLogprob } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import type { AnswerEnvelope } from './answer-shape.ts'
import { encodeError } from './encode-error.ts'
import { timestamp } from './lines.ts'
import { ToolCallGatherer } from './tool-call.ts'
import { doneJson, logprobsJson } from './usage.ts'

/** An answer of generate or chat in one piece. */
export class WholeAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #envelope: AnswerEnvelope
  readonly #calls = new ToolCallGatherer()
  readonly #finished: string[] = []
  #text = ''
  #thinking = ''
  #logprobs: TokenLogprob[] | undefined
  #answer = ''

  constructor(envelope: AnswerEnvelope) {
    this.#envelope = envelope
  }

  part(part: Part): string {
    if (part.type === 'text') this.#addText(part)
    else if (part.type === 'reasoning') this.#thinking += part.text
    else if (part.type === 'tool-call') this.#finish(this.#calls.begin(part))
    else if (part.type === 'tool-call-arguments') this.#calls.add(part)
    return ''
  }

  #addText({ text, logprobs }: Part & { type: 'text' }): void {
    this.#text += text
    if (logprobs !== undefined) (this.#logprobs ??= []).push(...logprobs)
  }

  #finish(call: string | undefined): void {
    if (call !== undefined) this.#finished.push(call)
  }

  end(result: Result, _task: number, info: RunInfo): string {
    this.#finish(this.#calls.end())
    const { model, now, shape, ending } = this.#envelope
    const piece = shape({
      text: this.#text,
      ...(this.#thinking === '' ? {} : { thinking: this.#thinking }),
      ...(this.#finished.length === 0 ? {} : { toolCalls: this.#finished.join(',') }),
    })
    const logprobs = this.#logprobs === undefined ? '' : `,"logprobs":${logprobsJson(this.#logprobs)}`
    const head = `"model":${JSON.stringify(model)},"created_at":"${timestamp(now())}"`
    this.#answer = `{${head},${piece}${logprobs},${doneJson(result, info)}${ending?.(this.#text) ?? ''}}`
    return ''
  }

  finish(): string {
    return this.#answer
  }
}
