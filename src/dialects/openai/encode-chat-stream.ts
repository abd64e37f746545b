import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { WholeText } from '../whole-text.ts'
import { encodeStreamError } from './encode-error.ts'
import { EVENT_STREAM, HEARTBEAT } from './event-data.ts'
import { StreamFrame, type AnswerShape } from './stream-frame.ts'
import { chatLogprob, finishReason, type AnswerEnvelope } from './usage.ts'

/** A chat answer as `chat.completion.chunk` events; with several choices, one after the other. */
export class ChatStream implements RunEncoder {
  readonly streaming = true
  readonly contentType: string = EVENT_STREAM
  readonly heartbeat: string = HEARTBEAT
  readonly fail: RunEncoder['fail'] = encodeStreamError
  readonly #frame: StreamFrame
  readonly #text = new WholeText()
  readonly #reasoning = new WholeText()
  #choice = 0

  constructor(envelope: AnswerEnvelope, shape: AnswerShape) {
    this.#frame = new StreamFrame(envelope, 'chat.completion.chunk', shape)
  }

  headersWentEarly(): void {
    this.#frame.headersWentEarly()
  }

  #chunk(delta: string, logprobs = 'null'): string {
    return this.#frame.chunk(
      `{"index":${this.#choice},"delta":${delta},"logprobs":${logprobs},"finish_reason":null}`,
    )
  }

  part(part: Part, task: number): string {
    this.#choice = task
    switch (part.type) {
      case 'started':
        return this.#chunk('{"role":"assistant","content":""}')
      case 'text':
        return this.#textChunk(this.#text.push(part.text), part)
      case 'reasoning':
        return this.#reasoningChunk(this.#reasoning.push(part.text))
      case 'tool-call':
        return this.#toolCallChunk(part)
      case 'tool-call-arguments':
        return this.#toolChunk(part.index, `"function":{"arguments":${JSON.stringify(part.text)}}`)
      default:
        return ''
    }
  }

  #textChunk(text: string, { logprobs }: { logprobs?: (Part & { type: 'text' })['logprobs'] }): string {
    if (logprobs !== undefined) {
      const content = JSON.stringify({ content: logprobs.map(chatLogprob), refusal: null })
      return this.#chunk(`{"content":${JSON.stringify(text)}}`, content)
    }
    return text === '' ? '' : this.#chunk(`{"content":${JSON.stringify(text)}}`)
  }

  #reasoningChunk(text: string): string {
    return text === '' ? '' : this.#chunk(`{"reasoning_content":${JSON.stringify(text)}}`)
  }

  /** id, type and name come once, in the first fragment (BR-03). */
  #toolCallChunk({ index, id, name }: Part & { type: 'tool-call' }): string {
    const call = `"id":${JSON.stringify(id)},"type":"function","function":{"name":${JSON.stringify(name)},"arguments":""}`
    return this.#toolChunk(index, call)
  }

  #toolChunk(index: number, call: string): string {
    return this.#chunk(`{"tool_calls":[{"index":${index},${call}}]}`)
  }

  end(result: Result, task: number, info: RunInfo): string {
    this.#choice = task
    const rest = this.#reasoningChunk(this.#reasoning.end()) + this.#textChunk(this.#text.end(), {})
    const choice = `{"index":${task},"delta":{},"logprobs":null,"finish_reason":"${finishReason(result)}"}`
    return rest + this.#frame.lastChunk(choice, result, task, info)
  }

  finish(): string {
    return this.#frame.end()
  }
}
