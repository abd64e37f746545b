import { ModelyardError } from '../../base/errors.ts'
import type { Part } from '../../tasks/part.ts'
import { textOf } from './wire-text.ts'

export interface WireToolCall {
  index?: unknown
  id?: unknown
  /** Some write the arguments as an object, some name the call again with each piece, and some leave the name null then. */
  function?: { name?: unknown; arguments?: unknown } | null
}

/** A call as far as it has come. */
interface Call {
  /** Its place among the calls of this answer, from 0 on, whatever the endpoint counts. */
  place: number
  key: unknown
  id?: string
  isTold: boolean
  /** Arguments that came before the name. */
  held: string
}

/** Puts the tool calls of one answer together: pieces with one index belong together; without an index another id begins another call. */
export class WireCalls {
  readonly #calls: Call[] = []

  get count(): number {
    return this.#calls.length
  }

  /** @throws TypeError for arguments that are neither text nor an object */
  read({ index, id, function: described }: WireToolCall): Part[] {
    const call = this.#callOf(index, typeof id === 'string' && id !== '' ? id : undefined)
    const { name, arguments: given } = described ?? {}
    const text = textOf(given ?? '', JSON.stringify)
    if (call.isTold) return argumentsOf(call, text)
    call.held += text
    if (typeof name !== 'string' || name === '') return []
    call.isTold = true
    const { place, id: known = `call_${place}`, held } = call
    return [{ type: 'tool-call', index: place, id: known, name }, ...argumentsOf(call, held)]
  }

  /** @throws ModelyardError `engine_failed` for a call that nobody could answer */
  requireNames(): void {
    if (this.#calls.every(({ isTold }) => isTold)) return
    throw new ModelyardError('engine_failed', 'The upstream sent a tool call without a name. Try again.')
  }

  #find(index: unknown, id: string | undefined): Call | undefined {
    if (index !== undefined && index !== null) return this.#calls.find(({ key }) => key === index)
    // Without a number, what names none goes on with the last.
    return id === undefined ? this.#calls.at(-1) : this.#calls.findLast((call) => call.id === id)
  }

  #callOf(index: unknown, id: string | undefined): Call {
    const found = this.#find(index, id)
    if (found !== undefined) {
      if (found.id === undefined && id !== undefined) found.id = id
      return found
    }
    const call: Call = {
      place: this.#calls.length,
      key: index,
      isTold: false,
      held: '',
      ...(id !== undefined && { id }),
    }
    this.#calls.push(call)
    return call
  }
}

function argumentsOf({ place }: Call, text: string): Part[] {
  return text === '' ? [] : [{ type: 'tool-call-arguments', index: place, text }]
}
