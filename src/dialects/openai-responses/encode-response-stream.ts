import type { ModelyardError } from '../../base/errors.ts'
import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import type { Fields } from '../fields.ts'
import { errorFields } from '../openai/encode-error.ts'
import { EVENT_STREAM, HEARTBEAT } from '../openai/event-data.ts'
import { originJson, timingsJson } from '../openai/usage.ts'
import { ResponseItems } from './response-items.ts'
import { endedState, responseObject, type ResponseEnvelope, type ResponseState } from './response-object.ts'

/** A response as named events, numbered from 0; the last one holds the whole. */
export class ResponseStream implements RunEncoder {
  readonly streaming = true
  readonly contentType: string = EVENT_STREAM
  readonly heartbeat: string = HEARTBEAT
  readonly #envelope: ResponseEnvelope
  readonly #items: ResponseItems
  #events = ''
  #count = 0
  #headersWentEarly = false

  constructor(envelope: ResponseEnvelope, id: string) {
    this.#envelope = envelope
    this.#items = new ResponseItems(id, (type, fields) => this.#tell(type, fields))
  }

  headersWentEarly(): void {
    this.#headersWentEarly = true
  }

  #tell(type: string, fields: Fields): void {
    const data = JSON.stringify({ type, sequence_number: this.#count++, ...fields })
    this.#events += `event: ${type}\ndata: ${data}\n\n`
  }

  #take(): string {
    const events = this.#events
    this.#events = ''
    return events
  }

  #tellState(type: string, state: ResponseState, more: Fields = {}): void {
    this.#tell(type, { response: { ...responseObject(this.#envelope, state), ...more } })
  }

  #begin(): void {
    if (this.#count > 0) return
    const state = { status: 'in_progress', output: [] } as const
    this.#tellState('response.created', state)
    this.#tellState('response.in_progress', state)
  }

  part(part: Part): string {
    if (part.type === 'started') this.#begin()
    else this.#items.part(part)
    return this.#take()
  }

  end(result: Result, _task: number, info: RunInfo): string {
    const state = endedState(result, this.#items.output)
    this.#items.end(state.status === 'incomplete' ? 'incomplete' : 'completed')
    this.#envelope.keep?.(responseObject(this.#envelope, state))
    const origin = this.#headersWentEarly ? originJson(info) : ''
    const more = JSON.parse(`{"timings":${timingsJson(result, info)}${origin}}`) as Fields
    this.#tellState(`response.${state.status}`, state, more)
    return this.#take()
  }

  finish(): string {
    return ''
  }

  /**
   * As the API does it: `error`, on which SDKs throw, then `response.failed`, the one terminal event. The error's fields are where the reference
   * has them and also in `error`, where the API itself puts them.
   */
  fail(error: ModelyardError, status: number): string {
    const fields = errorFields(error, status)
    this.#begin()
    this.#items.end('incomplete')
    const { code, message, param } = fields
    this.#tell('error', { code, message, param, error: fields })
    this.#tellState('response.failed', { status: 'failed', output: this.#items.output, error: fields })
    return this.#take()
  }
}
