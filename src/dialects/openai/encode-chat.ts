import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { ChatMessage } from './chat-message.ts'
import { encodeError } from './encode-error.ts'
import { envelopeJson, finishReason, timingsJson, usageJson, type AnswerEnvelope } from './usage.ts'
import { UsageSum } from './usage-sum.ts'

/** A chat answer in one piece; its choices are in the order they were made. */
export class ChatAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #envelope: AnswerEnvelope
  readonly #usage: UsageSum
  readonly #choices: string[] = []
  #message = new ChatMessage()
  #timings = ''

  /** @param choices answers to the one prompt */
  constructor(envelope: AnswerEnvelope, choices: number) {
    this.#envelope = envelope
    this.#usage = new UsageSum(choices)
  }

  part(part: Part): string {
    this.#message.add(part)
    return ''
  }

  end(result: Result, task: number, info: RunInfo): string {
    const { json, logprobsJson } = this.#message
    this.#choices.push(
      `{"index":${task},"message":${json},"logprobs":${logprobsJson},"finish_reason":"${finishReason(result)}"}`,
    )
    this.#message = new ChatMessage()
    this.#usage.add(result.usage, task)
    this.#timings = timingsJson(result, info)
    return ''
  }

  finish(): string {
    // Stages of several runs do not add up to anything.
    const timings = this.#choices.length === 1 ? `,"timings":${this.#timings}` : ''
    const head = envelopeJson(this.#envelope, 'chat.completion')
    return `${head},"choices":[${this.#choices.join(',')}],"usage":${usageJson(this.#usage.total)}${timings}}`
  }
}
