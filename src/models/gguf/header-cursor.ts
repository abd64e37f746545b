import type { FileHandle } from 'node:fs/promises'
import { invalidFile, truncatedFile } from './invalid-file.ts'
import { MAX_TOKEN_BYTES, WINDOW } from './limits.ts'

/** Sees one text of a string array in place: `bytes[start…end)`. */
export type TextVisitor = (bytes: Buffer, start: number, end: number, index: number) => void

/**
 * Walks a file forward through one reused window. Nothing is allocated by a size the file declares, and each step is checked
 * against what the file really has. `ensure` first, then take: taking is synchronous so that 150,000 tokens cost no 150,000 promises.
 */
export class HeaderCursor {
  readonly path: string
  /** Bytes of the file when it was opened. */
  readonly size: number
  readonly #file: FileHandle
  readonly #window: Buffer
  /** File offset of the window's first byte. */
  #origin = 0
  /** Bytes of the window that hold data. */
  #filled = 0
  /** Index in the window. */
  #at = 0

  constructor(file: FileHandle, path: string, size: number) {
    this.#file = file
    this.path = path
    this.size = size
    this.#window = Buffer.allocUnsafe(Math.min(WINDOW, Math.max(size, 1)))
  }

  get position(): number {
    return this.#origin + this.#at
  }

  get remaining(): number {
    return this.size - this.position
  }

  /** Makes `bytes` (at most a window) takeable. @throws model_file_invalid when the file has fewer */
  async ensure(bytes: number): Promise<void> {
    if (this.#filled - this.#at >= bytes) return
    this.expect(bytes)
    this.#window.copy(this.#window, 0, this.#at, this.#filled)
    this.#origin += this.#at
    this.#filled -= this.#at
    this.#at = 0
    await this.#fill(bytes)
  }

  async #fill(atLeast: number): Promise<void> {
    while (this.#filled < atLeast) {
      const room = this.#window.length - this.#filled
      const { bytesRead } = await this.#file.read(
        this.#window,
        this.#filled,
        room,
        this.#origin + this.#filled,
      )
      // The file shrank since it was opened.
      if (bytesRead === 0) throw truncatedFile(this.path, this.#origin + atLeast, this.#origin + this.#filled)
      this.#filled += bytesRead
    }
  }

  /** @throws model_file_invalid unless the file has `bytes` more */
  expect(bytes: number): void {
    if (!(bytes <= this.remaining)) throw truncatedFile(this.path, this.position + bytes, this.size)
  }

  /** The first bytes of the file, at most `bytes`, without moving. Only at the beginning. */
  async peekBeginning(bytes: number): Promise<Buffer> {
    const wanted = Math.min(bytes, this.size)
    await this.ensure(wanted)
    return this.#window.subarray(0, wanted)
  }

  uint8(): number {
    return this.#window.readUInt8(this.#take(1))
  }

  uint16(): number {
    return this.#window.readUInt16LE(this.#take(2))
  }

  uint32(): number {
    return this.#window.readUInt32LE(this.#take(4))
  }

  /** Above 2^53 the nearest double: far beyond any file, and refused as such. */
  uint64(): number {
    const at = this.#take(8)
    return this.#window.readUInt32LE(at) + this.#window.readUInt32LE(at + 4) * 2 ** 32
  }

  int8(): number {
    return this.#window.readInt8(this.#take(1))
  }

  int16(): number {
    return this.#window.readInt16LE(this.#take(2))
  }

  int32(): number {
    return this.#window.readInt32LE(this.#take(4))
  }

  int64(): number {
    return Number(this.#window.readBigInt64LE(this.#take(8)))
  }

  float32(): number {
    return this.#window.readFloatLE(this.#take(4))
  }

  float64(): number {
    return this.#window.readDoubleLE(this.#take(8))
  }

  /** `bytes` of UTF-8, at most a window, ensured before. */
  text(bytes: number): string {
    const at = this.#take(bytes)
    return this.#window.toString('utf8', at, at + bytes)
  }

  #take(bytes: number): number {
    const at = this.#at
    if (at + bytes > this.#filled) throw new RangeError('taken without being ensured')
    this.#at += bytes
    return at
  }

  /** Moves on without reading. @throws model_file_invalid when the file has fewer bytes */
  skip(bytes: number): void {
    this.expect(bytes)
    this.seek(this.position + bytes)
  }

  /** Goes to an offset that is known to lie in the file. */
  seek(offset: number): void {
    const at = offset - this.#origin
    if (at >= 0 && at <= this.#filled) {
      this.#at = at
      return
    }
    this.#origin = offset
    this.#filled = 0
    this.#at = 0
  }

  /** A text of up to `bytes` that may be longer than the window; the caller has bounded it. */
  async longText(bytes: number): Promise<string> {
    this.expect(bytes)
    if (bytes <= this.#window.length) {
      await this.ensure(bytes)
      return this.text(bytes)
    }
    const whole = Buffer.alloc(bytes)
    const { bytesRead } = await this.#file.read(whole, 0, bytes, this.position)
    if (bytesRead < bytes) throw truncatedFile(this.path, this.position + bytes, this.position + bytesRead)
    this.skip(bytes)
    return whole.toString('utf8')
  }

  /** Walks an array of `count` texts, shown to `visit` in place; without `visit` they are only stepped over. */
  async walkTexts(count: number, visit?: TextVisitor): Promise<void> {
    for (let index = 0; index < count;) {
      index = this.#walkWindow(index, count, visit)
      if (index === count) return
      if (visit === undefined) {
        await this.ensure(8)
        this.skip(this.uint64())
        index++
      } else await this.#ensureText()
    }
  }

  /** Walks as far as whole texts lie in the window; local variables because it runs 150,000 times. @returns index of the next text */
  #walkWindow(index: number, count: number, visit: TextVisitor | undefined): number {
    const window = this.#window
    const filled = this.#filled
    let next = index
    let at = this.#at
    while (next < count && at + 8 <= filled) {
      const end = at + 8 + lengthAt(window, at)
      if (end > filled) break
      visit?.(window, at + 8, end, next)
      at = end
      next++
    }
    this.#at = at
    return next
  }

  /** Makes the next whole text takeable. */
  async #ensureText(): Promise<void> {
    await this.ensure(8)
    const length = lengthAt(this.#window, this.#at)
    this.expect(8 + length)
    if (length > MAX_TOKEN_BYTES) throw invalidFile(this.path, `is corrupt: a token has ${length} bytes.`)
    await this.ensure(8 + length)
  }
}

/** The 64-bit length of a text; inlined arithmetic, because `readUInt32LE` costs more than the rest of the walk. */
function lengthAt(bytes: Buffer, at: number): number {
  const low = bytes32(bytes, at)
  const high = bytes32(bytes, at + 4)
  return high === 0 ? low : low + high * 2 ** 32
}

function bytes32(bytes: Buffer, at: number): number {
  const low = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)
  return (low | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)) >>> 0
}
