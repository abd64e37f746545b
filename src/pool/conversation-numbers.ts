import type { Fingerprint } from '../tasks/fingerprint.ts'

/** Which conversation a request belongs to, in order of appearance, and which turn of it, from 0. */
export interface ConversationTurn {
  readonly conversation: number
  readonly turn: number
}

/** Conversations that are remembered; the ones that were used least recently are forgotten. */
const MOST = 10_000

/** Numbers for conversations: hashes of what people write stay here, only the numbers go out. */
export class ConversationNumbers {
  /** By the hash of the last block of what was asked or answered. */
  readonly #ends = new Map<string, ConversationTurn>()
  #count = 0

  /** The turn that this request is; undefined when it has no beginning that another could share. */
  turnOf(chain: Fingerprint): ConversationTurn | undefined {
    if (chain.length === 0) return undefined
    const turn = this.#nextTurn(chain)
    this.note(chain, turn)
    return turn
  }

  #nextTurn(chain: Fingerprint): ConversationTurn {
    for (const [index, { hash }] of [...chain.entries()].toReversed()) {
      const known = this.#ends.get(hash)
      if (known === undefined) continue
      // The same once more is no further turn.
      return index === chain.length - 1 ? known : { ...known, turn: known.turn + 1 }
    }
    this.#count++
    return { conversation: this.#count, turn: 0 }
  }

  /** What was asked, or answered, in that turn ends like this. */
  note(chain: Fingerprint, turn: ConversationTurn): void {
    const last = chain.at(-1)
    if (last === undefined) return
    this.#ends.delete(last.hash)
    this.#ends.set(last.hash, turn)
    const [oldest] = this.#ends.keys()
    if (this.#ends.size > MOST && oldest !== undefined) this.#ends.delete(oldest)
  }
}
