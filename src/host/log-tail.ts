import { StringDecoder } from 'node:string_decoder'

const LINES = 40
const LINE_LENGTH = 1000

/** The last lines a program wrote, bounded whatever it writes: 40 lines of at most 1,000 characters (M10). */
export class LogTail {
  readonly #decoder = new StringDecoder('utf8')
  #lines: string[] = []
  #open = ''

  write(chunk: Buffer): void {
    const pieces = (this.#open + this.#decoder.write(chunk)).split(/\r?\n/)
    this.#open = seenOf(pieces.pop() ?? '').slice(0, LINE_LENGTH)
    const fresh = pieces
      .map(seenOf)
      .filter((line) => line.trim() !== '')
      .slice(-LINES)
    this.#lines = [...this.#lines, ...fresh.map((line) => line.slice(0, LINE_LENGTH))].slice(-LINES)
  }

  /** Newest last; a last line without its end counts. */
  lines(): string[] {
    const open = this.#open.replace(/\r$/, '')
    return open.trim() === '' ? [...this.#lines] : [...this.#lines, open].slice(-LINES)
  }
}

/** What a terminal shows of a line: a progress bar begins anew after each carriage return. One at the end may belong to a line end to come. */
function seenOf(line: string): string {
  return line.slice(line.lastIndexOf('\r', line.length - 2) + 1)
}
