import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { WholeText } from '../whole-text.ts'
import { completionLogprobs, logprobsOf } from './completion-logprobs.ts'
import { encodeStreamError } from './encode-error.ts'
import { EVENT_STREAM, HEARTBEAT } from './event-data.ts'
import { StreamFrame, type AnswerShape } from './stream-frame.ts'
import { finishReason, type AnswerEnvelope } from './usage.ts'

/** The JSON of a choice. @param reason of its end, JSON */
function choiceJson(task: number, text: string, logprobs: string, reason = 'null'): string {
  return `{"text":${JSON.stringify(text)},"index":${task},"logprobs":${logprobs},"finish_reason":${reason}}`
}

/** Completions as `text_completion` events; with several prompts or choices, one after the other. */
export class CompletionStream implements RunEncoder {
  readonly streaming = true
  readonly contentType: string = EVENT_STREAM
  readonly heartbeat: string = HEARTBEAT
  readonly fail: RunEncoder['fail'] = encodeStreamError
  readonly #frame: StreamFrame
  readonly #text = new WholeText()
  #offset = 0

  constructor(envelope: AnswerEnvelope, shape: AnswerShape) {
    this.#frame = new StreamFrame(envelope, 'text_completion', shape)
  }

  headersWentEarly(): void {
    this.#frame.headersWentEarly()
  }

  part(part: Part, task: number): string {
    if (part.type !== 'text') return ''
    const text = this.#text.push(part.text)
    const entries = logprobsOf(part)
    if (text === '' && entries === undefined) return ''
    const logprobs =
      entries === undefined ? 'null' : JSON.stringify(completionLogprobs(entries, this.#offset))
    this.#offset += part.text.length
    return this.#frame.chunk(choiceJson(task, text, logprobs))
  }

  end(result: Result, task: number, info: RunInfo): string {
    this.#offset = 0
    const choice = choiceJson(task, this.#text.end(), 'null', `"${finishReason(result)}"`)
    return this.#frame.lastChunk(choice, result, task, info)
  }

  finish(): string {
    return this.#frame.end()
  }
}
