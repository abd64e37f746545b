import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { encodeError } from '../openai/encode-error.ts'
import { timingsJson } from '../openai/usage.ts'
import { ResponseItems } from './response-items.ts'
import { endedState, responseObject, type ResponseEnvelope } from './response-object.ts'

/** A response in one piece. */
export class ResponseAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #envelope: ResponseEnvelope
  readonly #items: ResponseItems
  #answer = ''

  constructor(envelope: ResponseEnvelope, id: string) {
    this.#envelope = envelope
    this.#items = new ResponseItems(id, () => undefined)
  }

  part(part: Part): string {
    this.#items.part(part)
    return ''
  }

  end(result: Result, _task: number, info: RunInfo): string {
    const state = endedState(result, this.#items.output)
    this.#items.end(state.status === 'incomplete' ? 'incomplete' : 'completed')
    const response = responseObject(this.#envelope, state)
    this.#envelope.keep?.(response)
    const json = JSON.stringify(response)
    this.#answer = `${json.slice(0, -1)},"timings":${timingsJson(result, info)}}`
    return ''
  }

  finish(): string {
    return this.#answer
  }
}
