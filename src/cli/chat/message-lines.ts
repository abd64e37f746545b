/** What a line typed into the chat amounts to. */
export type ChatInput =
  | { type: 'more' } // the message goes on in the next line
  | { type: 'nothing' }
  | { type: 'message'; text: string }
  | { type: 'command'; name: string; argument: string }

const BLOCK = '"""'

/**
 * Puts messages of several lines together: a line that ends with `\` goes on in the next one, and everything between `"""` and
 * `"""` belongs together, blank lines included. A line that begins with `/` and a letter is a command; `//` sends the slash itself.
 */
export class MessageLines {
  #lines: string[] = []
  #inBlock = false

  /** True while a message is unfinished. */
  get unfinished(): boolean {
    return this.#lines.length > 0 || this.#inBlock
  }

  /** Forgets an unfinished message. */
  clear(): void {
    this.#lines = []
    this.#inBlock = false
  }

  add(line: string): ChatInput {
    if (this.#inBlock) return this.#addToBlock(line)
    if (line.trimStart().startsWith(BLOCK)) return this.#openBlock(line.trimStart().slice(BLOCK.length))
    if (line.endsWith('\\')) return this.addPart(line.slice(0, -1))
    if (this.unfinished) return this.#finish(line)
    return singleLine(line)
  }

  /** A line that is certainly not the last one, whatever is in it: pasted text with line breaks. */
  addPart(line: string): ChatInput {
    this.#lines.push(line)
    return { type: 'more' }
  }

  #openBlock(rest: string): ChatInput {
    this.#inBlock = true
    if (rest === '') return { type: 'more' }
    return this.#addToBlock(rest)
  }

  #addToBlock(line: string): ChatInput {
    const end = line.trimEnd()
    if (!end.endsWith(BLOCK)) return this.addPart(line)
    const last = end.slice(0, -BLOCK.length)
    if (last !== '') this.#lines.push(last)
    return this.#finish()
  }

  #finish(...lastLine: string[]): ChatInput {
    const text = [...this.#lines, ...lastLine].join('\n')
    this.clear()
    return text.trim() === '' ? { type: 'nothing' } : { type: 'message', text }
  }
}

function singleLine(line: string): ChatInput {
  const text = line.trim()
  if (text === '') return { type: 'nothing' }
  const command = /^\/([a-z?]+)(?:\s+([\s\S]*))?$/i.exec(text)
  if (command !== null) {
    return { type: 'command', name: (command[1] ?? '').toLowerCase(), argument: (command[2] ?? '').trim() }
  }
  return { type: 'message', text: text.startsWith('//') ? text.slice(1) : line }
}
