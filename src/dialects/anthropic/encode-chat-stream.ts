import { ModelyardError } from '../../base/errors.ts'
import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { WholeText } from '../whole-text.ts'
import { encodeStreamError } from './encode-error.ts'
import { EVENT_STREAM, eventData, PING } from './event-data.ts'
import { thinkingSignature } from './thinking-signature.ts'
import {
  messageJson,
  originJson,
  stopJson,
  textBlockJson,
  thinkingBlockJson,
  tokensJson,
  toolUseBlockJson,
  usageJson,
  type AnswerEnvelope,
} from './usage.ts'

type OpenBlock = { type: 'text' } | { type: 'reasoning'; thought: string } | { type: 'tool'; call: number }

/** A message as events: blocks are opened and closed one after the other, never two at a time (BR-42). */
export class ChatStream implements RunEncoder {
  readonly streaming = true
  readonly contentType: string = EVENT_STREAM
  readonly heartbeat: string = PING
  readonly #envelope: AnswerEnvelope
  readonly #whole = new WholeText()
  #open: OpenBlock | undefined
  #index = -1
  #headersWentEarly = false

  constructor(envelope: AnswerEnvelope) {
    this.#envelope = envelope
  }

  readonly fail: RunEncoder['fail'] = (error, status) =>
    encodeStreamError(error, status, this.#envelope.requestId)

  headersWentEarly(): void {
    this.#headersWentEarly = true
  }

  part(part: Part): string {
    switch (part.type) {
      case 'started':
        return this.#start(part)
      case 'text':
      case 'reasoning':
        return this.#text(part)
      case 'tool-call':
        return this.#begin({ type: 'tool', call: part.index }, toolUseBlockJson(part.id, part.name, '{}'))
      case 'tool-call-arguments':
        return this.#arguments(part)
      default:
        return ''
    }
  }

  #start({ promptTokens, cachedTokens }: Part & { type: 'started' }): string {
    const usage = usageJson({ promptTokens, cachedTokens, completionTokens: 0, reasoningTokens: 0 })
    const end = `,"stop_reason":null,"stop_sequence":null,"stop_details":null,"usage":${usage}`
    return eventData('message_start', `,"message":${messageJson(this.#envelope, '', end)}`)
  }

  #text({ type, text }: Part & { type: 'text' | 'reasoning' }): string {
    if (text === '') return ''
    if (this.#open?.type === type) return this.#textDelta(this.#whole.push(text))
    const begun =
      type === 'text'
        ? this.#begin({ type }, textBlockJson(''))
        : this.#begin({ type, thought: '' }, thinkingBlockJson('', ''))
    return begun + this.#textDelta(this.#whole.push(text))
  }

  #textDelta(text: string): string {
    if (text === '' || this.#open === undefined) return ''
    if (this.#open.type !== 'reasoning') return this.#delta(`"text_delta","text":${JSON.stringify(text)}`)
    this.#open.thought += text
    if (!this.#envelope.thinkingShown) return ''
    return this.#delta(`"thinking_delta","thinking":${JSON.stringify(text)}`)
  }

  #arguments({ index, text }: Part & { type: 'tool-call-arguments' }): string {
    if (this.#open?.type !== 'tool' || this.#open.call !== index) {
      throw new ModelyardError('engine_failed', `The engine went back to call ${index}, which had ended.`)
    }
    return this.#delta(`"input_json_delta","partial_json":${JSON.stringify(text)}`)
  }

  #delta(delta: string): string {
    return eventData('content_block_delta', `,"index":${this.#index},"delta":{"type":${delta}}`)
  }

  #begin(block: OpenBlock, json: string): string {
    const closed = this.#close()
    this.#open = block
    this.#index++
    return closed + eventData('content_block_start', `,"index":${this.#index},"content_block":${json}`)
  }

  /** The rest of the open block: half a character, the signature of a thought, its stop. */
  #close(): string {
    if (this.#open === undefined) return ''
    const rest = this.#textDelta(this.#whole.end())
    const signature =
      this.#open.type === 'reasoning'
        ? this.#delta(`"signature_delta","signature":"${thinkingSignature(this.#open.thought)}"`)
        : ''
    this.#open = undefined
    return rest + signature + eventData('content_block_stop', `,"index":${this.#index}`)
  }

  end(result: Result, _task: number, info: RunInfo): string {
    const origin = this.#headersWentEarly ? originJson(info) : ''
    const delta = `,"delta":{${stopJson(result)},"container":null}`
    const usage = `,"usage":{${tokensJson(result.usage)}${origin}}`
    return this.#close() + eventData('message_delta', delta + usage)
  }

  finish(): string {
    return eventData('message_stop', '')
  }
}
