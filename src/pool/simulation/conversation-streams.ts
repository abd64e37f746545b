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
  blocks: Fingerprint | undefined
  ends: ReadonlyMap<number, TurnEnds>
}

/** What a request begins with, and what its slot holds once it is answered. */
export interface StreamedRequest {
  readonly chain: Fingerprint
  readonly answered: Fingerprint
}

/**
 * The beginnings of a trace's requests as chains of blocks: each conversation is a stream of tokens with a block up to each place at which a
 * request or an answer ends, or another conversation leaves it. Conversations that never say how many tokens they have get the same number
 * with each turn, after a beginning that they all share.
 */
export class ConversationStreams {
  readonly #streams = new Map<string, Stream>()
  /** What all begin with that say nothing of tokens; outside the map, as a trace may name its conversations as it likes. */
  readonly #everybodys = newStream()

  constructor(requests: readonly TraceRequest[]) {
    for (const request of requests) this.#note(request)
    for (const stream of this.#streams.values()) this.#complete(stream)
    for (const { parent } of this.#streams.values()) if (parent !== undefined) this.#leave(parent)
  }

  /** `conversation` is one of the trace's. */
  request(conversation: string, turn: number): StreamedRequest {
    const stream = this.#stream(conversation)
    const blocks = this.#blocksOf(stream)
    const { asked, answered } = stream.ends.get(turn) ?? { asked: 0, answered: 0 }
    return { chain: until(blocks, asked), answered: until(blocks, answered) }
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

  /** From the first of those it begins with to itself: there may be thousands, too many for calls within calls. */
  #blocksOf(stream: Stream): Fingerprint {
    const missing: Stream[] = []
    for (
      let one: Stream | undefined = stream;
      one !== undefined && one.blocks === undefined;
      one = one.parent?.of
    ) {
      missing.push(one)
    }
    for (const one of missing.toReversed()) cut(one)
    return stream.blocks ?? []
  }
}

function newStream(name?: string): Stream {
  return {
    name,
    parent: undefined,
    turns: new Map(),
    leavings: new Set(),
    blocks: undefined,
    ends: new Map(),
  }
}

/** Cuts it into blocks, after those of its parent. */
function cut(stream: Stream): void {
  const { name, parent, leavings } = stream
  const shared = parent === undefined ? [] : until(parent.of.blocks ?? [], parent.tokens)
  stream.ends = endsOf(stream)
  const places = new Set(leavings)
  for (const { asked, answered } of stream.ends.values()) places.add(asked).add(answered)
  const own = [...places].sort((a, b) => a - b).map((place) => blockOf(name, place))
  stream.blocks = [...shared, ...own]
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

/** The blocks within so many tokens. */
function until(blocks: Fingerprint, tokens: number): Fingerprint {
  const size = tokens * TOKEN_SIZE
  let count = blocks.length
  while (count > 0 && (blocks[count - 1]?.end ?? 0) > size) count--
  return count === blocks.length ? blocks : blocks.slice(0, count)
}
