import type { Fingerprint } from '../tasks/fingerprint.ts'
import { tokensIn } from './policy/context-worth.ts'

/** Which conversation a request belongs to, in order of appearance, and which turn of it, from 0. */
export interface ConversationTurn {
  readonly conversation: number
  readonly turn: number
}

/** How many of a request's first tokens an earlier conversation had as well. */
export interface NumberedBeginning {
  readonly of: number
  readonly tokens: number
}

/** A place at which what was asked or answered ended, and the block with which the next request went on from there. */
interface End extends ConversationTurn {
  continuedBy: string | undefined
}

/** A block, the conversation that had it first, and its last token's place once somebody else's beginning ended here. */
interface Block {
  readonly conversation: number
  tokens: number | undefined
}

/** Ends and blocks that are remembered; the ones that were used least recently are forgotten. */
const MOST_ENDS = 10_000
const MOST_BLOCKS = 100_000

/** Numbers for conversations: hashes of what people write stay here, only the numbers go out. */
export class ConversationNumbers {
  /** By the hash of the last block of what was asked or answered. */
  readonly #ends = new Map<string, End>()
  readonly #blocks = new Map<string, Block>()
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
      const { conversation, turn } = known
      const next = chain[index + 1]?.hash
      // The same once more is no further turn.
      if (next === undefined) return { conversation, turn }
      // Whoever goes on differently from there is a branch, a conversation of its own.
      if (known.continuedBy !== undefined && known.continuedBy !== next) break
      known.continuedBy = next
      return { conversation, turn: turn + 1 }
    }
    this.#count++
    return { conversation: this.#count, turn: 0 }
  }

  /** What was asked, or answered, in that turn ends like this. */
  note(chain: Fingerprint, { conversation, turn }: ConversationTurn): void {
    const last = chain.at(-1)
    if (last === undefined) return
    const { continuedBy } = this.#ends.get(last.hash) ?? { continuedBy: undefined }
    renew(this.#ends, last.hash, { conversation, turn, continuedBy }, MOST_ENDS)
    for (const { hash } of chain) {
      const block = this.#blocks.get(hash) ?? { conversation, tokens: undefined }
      renew(this.#blocks, hash, block, MOST_BLOCKS)
    }
  }

  /**
   * What a request of so many tokens begins with that another conversation had before; undefined when nothing is. Tokens in proportion to
   * characters, and for each place those that were found there first: agents with one beginning all leave it at one place.
   */
  beginningOf(
    chain: Fingerprint,
    { conversation }: ConversationTurn,
    promptTokens: number,
  ): NumberedBeginning | undefined {
    for (let count = chain.length; count > 0; count--) {
      const block = this.#blocks.get(chain[count - 1]?.hash ?? '')
      if (block === undefined || block.conversation >= conversation) continue
      const tokens = block.tokens ?? tokensIn(chain, promptTokens, count)
      if (tokens < 1) return undefined
      block.tokens = tokens
      return { of: block.conversation, tokens }
    }
    return undefined
  }
}

/** Sets it as the newest; the oldest goes when there are too many. */
function renew<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= most) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
