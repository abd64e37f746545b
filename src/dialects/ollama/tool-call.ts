import type { Part } from '../../tasks/part.ts'

/** Calls of this API come whole, with their arguments as an object: fragments are gathered until the call is complete. */
export class ToolCallGatherer {
  #open: { id: string; index: number; name: string; text: string } | undefined

  /** @returns JSON of the call that ended by another's beginning, if one did */
  begin({ id, index, name }: Part & { type: 'tool-call' }): string | undefined {
    const ended = this.end()
    this.#open = { id, index, name, text: '' }
    return ended
  }

  add({ index, text }: Part & { type: 'tool-call-arguments' }): void {
    if (this.#open?.index === index) this.#open.text += text
  }

  /** @returns JSON of the open call, if there is one */
  end(): string | undefined {
    if (this.#open === undefined) return undefined
    const { id, index, name, text } = this.#open
    this.#open = undefined
    const call = `"index":${index},"name":${JSON.stringify(name)},"arguments":${objectJson(text)}`
    return `{"id":${JSON.stringify(id)},"function":{${call}}}`
  }
}

/**
 * The arguments as they came, but on one line: a stream has an answer a line, and JSON has line breaks only between its tokens. `{}` for
 * none, and for what a limit cut short.
 */
function objectJson(text: string): string {
  try {
    JSON.parse(text)
    return text.replaceAll(/[\r\n]+/g, ' ')
  } catch {
    return '{}'
  }
}
