import { ModelyardError } from '../../base/errors.ts'
import type { Part } from '../../tasks/part.ts'
import type { Fields } from '../fields.ts'
import { chatLogprob } from '../openai/usage.ts'
import { WholeText } from '../whole-text.ts'

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

interface TextPart {
  type: 'output_text'
  text: string
  annotations: never[]
  logprobs: Fields[]
}

interface MessageItem {
  id: string
  type: 'message'
  status: ItemStatus
  role: 'assistant'
  content: [TextPart]
}

interface ReasoningItem {
  id: string
  type: 'reasoning'
  status: ItemStatus
  summary: never[]
  content: [{ type: 'reasoning_text'; text: string }]
}

interface FunctionCallItem {
  id: string
  type: 'function_call'
  status: ItemStatus
  arguments: string
  call_id: string
  name: string
}

/** One entry of a response's `output`. */
export type ResponseItem = MessageItem | ReasoningItem | FunctionCallItem

/** Told of each step of an item, in the order of the API; what `fields` holds may change after the call. */
export type TellStep = (type: string, fields: Fields) => void

/** Makes items of parts, one open at a time, and tells each step as the API's events do. */
export class ResponseItems {
  readonly output: ResponseItem[] = []
  readonly #id: string
  readonly #tell: TellStep
  readonly #whole = new WholeText()
  #open: ResponseItem | undefined
  #call = -1

  /** @param id of the request: the items' ids are made of it */
  constructor(id: string, tell: TellStep) {
    this.#id = id
    this.#tell = tell
  }

  part(part: Part): void {
    if (part.type === 'text') this.#text(part)
    else if (part.type === 'reasoning') this.#think(part.text)
    else if (part.type === 'tool-call') this.#beginCall(part)
    else if (part.type === 'tool-call-arguments') this.#arguments(part)
  }

  /** Ends what is open; cut off = its end is missing. */
  end(status: 'completed' | 'incomplete'): void {
    const item = this.#open
    if (item === undefined) return
    this.#flush(item)
    this.#open = undefined
    item.status = status
    const place = { item_id: item.id, output_index: this.output.length - 1 }
    if (item.type === 'function_call') {
      const { name } = item
      this.#tell('response.function_call_arguments.done', { ...place, name, arguments: item.arguments })
    } else this.#endContent(item, { ...place, content_index: 0 })
    this.#tell('response.output_item.done', { output_index: place.output_index, item })
  }

  #endContent(item: MessageItem | ReasoningItem, place: Fields): void {
    const [part] = item.content
    if (part.type === 'output_text') {
      const { text, logprobs } = part
      this.#tell('response.output_text.done', { ...place, text, logprobs })
    } else this.#tell('response.reasoning_text.done', { ...place, text: part.text })
    this.#tell('response.content_part.done', { ...place, part })
  }

  /** Half a character that nothing completed. */
  #flush(item: ResponseItem): void {
    const rest = this.#whole.end()
    if (item.type !== 'function_call' && rest !== '') this.#delta(item, rest, [])
  }

  #text({ text, logprobs = [] }: Part & { type: 'text' }): void {
    if (text === '' && logprobs.length === 0) return
    const item = this.#open?.type === 'message' ? this.#open : this.#beginMessage()
    const whole = this.#whole.push(text)
    if (whole !== '' || logprobs.length > 0) this.#delta(item, whole, logprobs.map(chatLogprob))
  }

  #think(text: string): void {
    if (text === '') return
    const item = this.#open?.type === 'reasoning' ? this.#open : this.#beginReasoning()
    const whole = this.#whole.push(text)
    if (whole !== '') this.#delta(item, whole, [])
  }

  #delta(item: MessageItem | ReasoningItem, delta: string, logprobs: Fields[]): void {
    const [part] = item.content
    part.text += delta
    const place = { item_id: item.id, output_index: this.output.length - 1, content_index: 0, delta }
    if (part.type === 'reasoning_text') return this.#tell('response.reasoning_text.delta', place)
    part.logprobs.push(...logprobs)
    this.#tell('response.output_text.delta', { ...place, logprobs })
  }

  #beginMessage(): MessageItem {
    const part: TextPart = { type: 'output_text', text: '', annotations: [], logprobs: [] }
    const id = this.#nextId('msg')
    const item = { id, type: 'message', status: 'in_progress', role: 'assistant', content: [part] } as const
    return this.#begin<MessageItem>({ ...item, content: [part] })
  }

  #beginReasoning(): ReasoningItem {
    return this.#begin<ReasoningItem>({
      id: this.#nextId('rs'),
      type: 'reasoning',
      status: 'in_progress',
      summary: [],
      content: [{ type: 'reasoning_text', text: '' }],
    })
  }

  #beginCall({ index, id, name }: Part & { type: 'tool-call' }): void {
    this.#call = index
    const item = { id: this.#nextId('fc'), arguments: '', call_id: id, name }
    this.#begin<FunctionCallItem>({ ...item, type: 'function_call', status: 'in_progress' })
  }

  #arguments({ index, text }: Part & { type: 'tool-call-arguments' }): void {
    const item = this.#open
    if (item?.type !== 'function_call' || this.#call !== index) {
      throw new ModelyardError('engine_failed', `The engine went back to call ${index}, which had ended.`)
    }
    item.arguments += text
    const place = { item_id: item.id, output_index: this.output.length - 1 }
    this.#tell('response.function_call_arguments.delta', { ...place, delta: text })
  }

  #begin<Item extends ResponseItem>(item: Item): Item {
    this.end('completed')
    this.#open = item
    this.output.push(item)
    const index = { output_index: this.output.length - 1 }
    if (item.type === 'function_call') this.#tell('response.output_item.added', { ...index, item })
    else {
      // The content comes with an event of its own.
      this.#tell('response.output_item.added', { ...index, item: { ...item, content: [] } })
      const place = { item_id: item.id, ...index, content_index: 0 }
      this.#tell('response.content_part.added', { ...place, part: item.content[0] })
    }
    return item
  }

  #nextId(prefix: string): string {
    return `${prefix}_${this.#id}${this.output.length}`
  }
}
