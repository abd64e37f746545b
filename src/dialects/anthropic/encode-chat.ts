import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { encodeError } from './encode-error.ts'
import { thinkingSignature } from './thinking-signature.ts'
import {
  messageJson,
  stopJson,
  textBlockJson,
  thinkingBlockJson,
  toolUseBlockJson,
  usageJson,
  type AnswerEnvelope,
} from './usage.ts'

type ContentBlock =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'tool'; index: number; id: string; name: string; text: string }

/** A message in one piece: its blocks in the order in which they came. */
export class ChatAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly #envelope: AnswerEnvelope
  readonly #blocks: ContentBlock[] = []
  #answer = ''

  constructor(envelope: AnswerEnvelope) {
    this.#envelope = envelope
  }

  readonly fail: RunEncoder['fail'] = (error, status) => encodeError(error, status, this.#envelope.requestId)

  part(part: Part): string {
    if (part.type === 'text' || part.type === 'reasoning') this.#addText(part)
    else if (part.type === 'tool-call') {
      const { index, id, name } = part
      this.#blocks.push({ type: 'tool', index, id, name, text: '' })
    } else if (part.type === 'tool-call-arguments') {
      const call = this.#blocks.find((block) => block.type === 'tool' && block.index === part.index)
      if (call !== undefined) call.text += part.text
    }
    return ''
  }

  #addText({ type, text }: Part & { type: 'text' | 'reasoning' }): void {
    const last = this.#blocks.at(-1)
    if (last?.type === type) last.text += text
    else if (text !== '') this.#blocks.push({ type, text })
  }

  end(result: Result): string {
    const content = this.#blocks.map((block) => this.#blockJson(block)).join(',')
    const end = `,${stopJson(result)},"usage":${usageJson(result.usage)}`
    this.#answer = messageJson(this.#envelope, content, end)
    return ''
  }

  #blockJson(block: ContentBlock): string {
    if (block.type === 'text') return textBlockJson(block.text)
    if (block.type === 'tool') return toolUseBlockJson(block.id, block.name, inputJson(block.text))
    const shown = this.#envelope.thinkingShown ? block.text : ''
    return thinkingBlockJson(shown, thinkingSignature(block.text))
  }

  finish(): string {
    return this.#answer
  }
}

/** The arguments as they came; `{}` for none, and for what a limit cut short: a message must be JSON as a whole. */
function inputJson(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch {
    return '{}'
  }
}
