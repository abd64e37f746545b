import { appendFile, chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Lines kept from one session to the next. */
const MOST_LINES = 1000

/** Lines typed in earlier chats. Only its owner may read it (0600), for it holds what people said; a disk that refuses loses history, never the chat. */
export class HistoryFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Newest first, as the line editor wants them. Cuts a file that has grown to twice its size. */
  async read(): Promise<string[]> {
    const text = await readFile(this.#path, 'utf8').catch(() => '')
    const lines = text.split('\n').filter((line) => line !== '')
    if (lines.length > 2 * MOST_LINES) await this.#rewrite(lines.slice(-MOST_LINES)).catch(() => undefined)
    return lines.slice(-MOST_LINES).toReversed()
  }

  async add(line: string): Promise<void> {
    if (line.trim() === '') return
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
      await appendFile(this.#path, `${line}\n`, { mode: 0o600 })
      await chmod(this.#path, 0o600)
    } catch {
      // A full or read-only disk: the chat goes on without memory of this line.
    }
  }

  async #rewrite(lines: readonly string[]): Promise<void> {
    const fresh = `${this.#path}.${process.pid}.new`
    await writeFile(fresh, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 })
    await rename(fresh, this.#path)
  }
}
