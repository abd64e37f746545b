import type { Fingerprint, FingerprintBlock } from '../../tasks/fingerprint.ts'
import { ANSWER_TOKENS, TOKEN_SIZE } from './conversations.ts'
import type { TraceRequest } from './trace.ts'

/** Where a request ends and where its answer does, in tokens of its conversation. */
interface TurnEnds {
  readonly asked: number
  readonly answered: number
}

/** Of which stream it has its first tokens, and how many. */
interface Beginning {
  readonly of: Stream
  readonly tokens: number
}

/** All that is ever said in one conversation, one token after the other; what it shares with another is that one's. */
interface Stream {
  /** Undefined: everybody's. */
  readonly name: string | undefined
  parent: Beginning | undefined
  /** Of the prompt, by turn; undefined where no request says it. */
  readonly turns: Map<number, number | undefined>
  /** Tokens at which others leave it. */
  readonly leavings: Set<number>
  /** What is cut of it when it is first asked for. */
  cut: CutStream | undefined
}

/** The blocks after those it shares, and where its turns end. */
interface CutStream {
  readonly own: Fingerprint
  readonly ends: ReadonlyMap<number, TurnEnds>
}

/** What a request begins with, and what its slot holds once it is answered. */
export interface StreamedRequest {
  readonly chain: Fingerprint
  readonly answered: Fingerprint
}

/**
 * The beginnings of a trace's requests as chains of blocks: each conversation is a stream of tokens with a block up to each place at which a
 * request or an answer ends, or another conversation leaves it. Each keeps those of its own alone, as tens of thousands may share a long
 * beginning; a chain is put together for who asks. Conversations that never say how many tokens they have get the same number with each turn,
 * after a beginning that they all share.
 */
export class ConversationStreams {
  readonly #streams = new Map<string, Stream>()
  /** What all begin with that say nothing of tokens; outside the map, as a trace may name its conversations as it likes. */
  readonly #everybodys = newStream()
  /** That of the last request: the next one often begins with the same. */
  #lastBeginning: (Beginning & { readonly blocks: Fingerprint }) | undefined

  constructor(requests: readonly TraceRequest[]) {
    for (const request of requests) this.#note(request)
    for (const stream of this.#streams.values()) this.#complete(stream)
    for (const { parent } of this.#streams.values()) if (parent !== undefined) this.#leave(parent)
  }

  /** `conversation` is one of the trace's. */
  request(conversation: string, turn: number): StreamedRequest {
    const stream = this.#stream(conversation)
    const { asked, answered } = cutOf(stream).ends.get(turn) ?? { asked: 0, answered: 0 }
    const own = ownUntil(stream, answered)
    const shared = stream.parent === undefined ? [] : this.#beginning(stream.parent)
    const blocks = [...shared, ...own]
    return { chain: blocks.slice(0, countUntil(blocks, asked)), answered: blocks }
  }

  #beginning({ of, tokens }: Beginning): Fingerprint {
    const last = this.#lastBeginning
    if (last?.of === of && last.tokens === tokens) return last.blocks
    const blocks = blocksUntil(of, tokens)
    this.#lastBeginning = { of, tokens, blocks }
    return blocks
  }

  #stream(name: string): Stream {
    const known = this.#streams.get(name)
    if (known !== undefined) return known
    const stream = newStream(name)
    this.#streams.set(name, stream)
    return stream
  }

  #note({ conversation, turn = 0, tokens, beginning }: TraceRequest): void {
    if (conversation === undefined) return
    const stream = this.#stream(conversation)
    if (beginning !== undefined)
      stream.parent ??= { of: this.#stream(beginning.of), tokens: beginning.tokens }
    stream.turns.set(turn, stream.turns.get(turn) ?? tokens)
  }

  /** Of a conversation that says nothing of tokens, each message and each answer has as many as any other. */
  #complete(stream: Stream): void {
    const { turns, parent } = stream
    if (turns.size === 0 || [...turns.values()].some((tokens) => tokens !== undefined)) return
    stream.parent = parent ?? { of: this.#everybodys, tokens: ANSWER_TOKENS }
    for (const turn of turns.keys()) turns.set(turn, ANSWER_TOKENS * (2 * turn + 2))
  }

  /** Notes where it ends in the stream of whose tokens it is the last one. */
  #leave({ of, tokens }: Beginning): void {
    let stream = of
    while (stream.parent !== undefined && tokens <= stream.parent.tokens) stream = stream.parent.of
    stream.leavings.add(tokens)
  }
}

function newStream(name?: string): Stream {
  return {
    name,
    parent: undefined,
    turns: new Map(),
    leavings: new Set(),
    cut: undefined,
  }
}

/** The blocks within so many tokens. What it begins with may be one of thousands in a row: too many for calls within calls. */
function blocksUntil(stream: Stream, tokens: number): Fingerprint {
  const backwards: FingerprintBlock[] = []
  let within = tokens
  for (let one: Stream | undefined = stream; one !== undefined; one = one.parent?.of) {
    for (const block of ownUntil(one, within).toReversed()) backwards.push(block)
    within = Math.min(within, one.parent?.tokens ?? within)
  }
  return backwards.toReversed()
}

function ownUntil(stream: Stream, tokens: number): Fingerprint {
  const { own } = cutOf(stream)
  const count = countUntil(own, tokens)
  return count === own.length ? own : own.slice(0, count)
}

function cutOf(stream: Stream): CutStream {
  stream.cut ??= cut(stream)
  return stream.cut
}

function cut(stream: Stream): CutStream {
  const { name, leavings } = stream
  const ends = endsOf(stream)
  const places = new Set(leavings)
  for (const { asked, answered } of ends.values()) places.add(asked).add(answered)
  return { own: [...places].sort((a, b) => a - b).map((place) => blockOf(name, place)), ends }
}

/** Everybody's have no slash, as those of all conversations do. */
function blockOf(name: string | undefined, place: number): FingerprintBlock {
  return { hash: name === undefined ? `${place}` : `${name}/${place}`, end: place * TOKEN_SIZE }
}

/** The turns one after the other, each with a token of its own at least. */
function endsOf({ turns, parent }: Stream): ReadonlyMap<number, TurnEnds> {
  const ends = new Map<number, TurnEnds>()
  const inOrder = [...turns].sort(([a], [b]) => a - b)
  let place = parent?.tokens ?? 0
  for (const [index, [turn, tokens]] of inOrder.entries()) {
    const asked = Math.max(place + 1, tokens ?? place + ANSWER_TOKENS)
    const next = inOrder[index + 1]?.[1]
    const answer = next === undefined ? ANSWER_TOKENS : Math.max(1, Math.floor((next - asked) / 2))
    place = asked + answer
    ends.set(turn, { asked, answered: place })
  }
  return ends
}

/** How many of the blocks are within so many tokens. */
function countUntil(blocks: Fingerprint, tokens: number): number {
  const size = tokens * TOKEN_SIZE
  let count = blocks.length
  while (count > 0 && (blocks[count - 1]?.end ?? 0) > size) count--
  return count
}
