import { tokenId, type TinyVocabulary } from './tiny-vocabulary.ts'

/**
 * A scripted answer: after the token `after` (ChatML's prompt ends with "\n") the pieces follow, then `end`. Texts are tokens, numbers
 * are bytes. A piece has one successor, so pieces must be distinct.
 */
export interface Chain {
  after: string
  pieces: readonly (string | number)[]
  /** Default `<|im_end|>`. */
  end?: string
}

/** Numbers between 0 and 1, the same for the same seed (mulberry32). */
export class SeededNumbers {
  #state: number
  readonly #longest: number

  /** `longest`: most values that are made of one tensor; default all. */
  constructor(seed: number, longest: number = Number.MAX_SAFE_INTEGER) {
    this.#state = seed >>> 0
    this.#longest = longest
  }

  next(): number {
    this.#state = (this.#state + STEP) | 0
    return numberOf(this.#state)
  }

  /** Nearly normal around 0 with deviation 1. */
  gauss(): number {
    let sum = -6
    let state = this.#state
    for (let count = 0; count < 12; count++) {
      state = (state + STEP) | 0
      sum += numberOf(state)
    }
    this.#state = state
    return sum
  }

  /** A tensor's values, made when it is written. */
  tensor(length: number, deviation: number): () => Float32Array {
    return () => {
      const values = new Float32Array(Math.min(length, this.#longest))
      for (let index = 0; index < values.length; index++) values[index] = this.gauss() * deviation
      return values
    }
  }
}

const STEP = 0x6d_2b_79_f5

function numberOf(state: number): number {
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}

/** A vector of ±1 for every token. */
export function signCodes(vocabularySize: number, dimension: number): Float32Array {
  const random = new SeededNumbers(7)
  return Float32Array.from({ length: vocabularySize * dimension }, () => (random.next() < 0.5 ? -1 : 1))
}

/** The token that follows each token. Those that no chain names lead to letters. */
function successors(chains: readonly Chain[], vocabulary: TinyVocabulary): number[] {
  const next = new Map<number, number>()
  for (const { after, pieces, end = '<|im_end|>' } of chains) {
    const sequence = [after, ...pieces, end].map((piece) => tokenId(vocabulary, piece))
    sequence.slice(1).forEach((follower, index) => {
      const token = sequence[index] as number
      if ((next.get(token) ?? follower) !== follower)
        throw new Error('A piece has two successors: pieces must be distinct.')
      next.set(token, follower)
    })
  }
  const random = new SeededNumbers(1)
  const letter = (): number => tokenId(vocabulary, String.fromCharCode(97 + Math.floor(random.next() * 26)))
  return vocabulary.tokens.map((_, token) => next.get(token) ?? letter())
}

/**
 * The output head that makes greedy decoding a chain of one token after the other, whatever came earlier: row v is the sum of the
 * codes of all tokens that v follows. The margins are wide, so every machine gives the same text.
 */
export function scriptHead(
  codes: Float32Array,
  dimension: number,
  chains: readonly Chain[],
  vocabulary: TinyVocabulary,
): Float32Array {
  const next = successors(chains, vocabulary)
  const followed = new Map<number, number>()
  for (const token of next) followed.set(token, (followed.get(token) ?? 0) + 1)
  const head = new Float32Array(codes.length)
  next.forEach((follower, token) => {
    const scale = 32 / dimension / Math.sqrt(followed.get(follower) ?? 1)
    for (let index = 0; index < dimension; index++) {
      const place = follower * dimension + index
      head[place] = (head[place] ?? 0) + scale * (codes[token * dimension + index] ?? 0)
    }
  })
  return head
}
