const EMPTY_SLOT = 0

/**
 * Finds equal texts among many without keeping one of them: a table of 64-bit hashes that grows with the texts seen (8 bytes each,
 * at most two thirds full). Equal hashes of different texts are possible, once in some 10⁸ vocabularies of 262,144 tokens.
 */
export class TextSet {
  /** Pairs of hash halves, as signed numbers, which the engine does not box. A first half of 0 is a free place. */
  #table: Int32Array = new Int32Array(2 * 16_384)
  #count = 0

  /** Adds `bytes[start…end)`. @returns false when it was there already */
  add(bytes: Uint8Array, start: number, end: number): boolean {
    let first = 0xdeadbeef ^ (end - start)
    let second = 0x41c6ce57
    for (let index = start; index < end; index++) {
      const byte = bytes[index] ?? 0
      first = Math.imul(first ^ byte, 0x9e3779b1)
      first ^= first >>> 15
      second = Math.imul(second ^ byte, 0x5f356495)
      second ^= second >>> 13
    }
    if (this.#count * 3 >= this.#table.length) this.#table = grown(this.#table)
    if (!insert(this.#table, first === EMPTY_SLOT ? 1 : first, second)) return false
    this.#count++
    return true
  }
}

/** @returns false when the pair was there already */
function insert(table: Int32Array, first: number, second: number): boolean {
  const mask = table.length / 2 - 1
  let place = (first ^ second) & mask
  for (;;) {
    const found = table[2 * place]
    if (found === EMPTY_SLOT) break
    if (found === first && table[2 * place + 1] === second) return false
    place = (place + 1) & mask
  }
  table[2 * place] = first
  table[2 * place + 1] = second
  return true
}

function grown(old: Int32Array): Int32Array {
  const table = new Int32Array(2 * old.length)
  for (let index = 0; index < old.length; index += 2) {
    const first = old[index] ?? EMPTY_SLOT
    if (first !== EMPTY_SLOT) insert(table, first, old[index + 1] ?? 0)
  }
  return table
}
