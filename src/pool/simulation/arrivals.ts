import { ConversationStreams } from './conversation-streams.ts'
import type { TraceRequest } from './trace.ts'
import type { Visitor, VisitRequest } from './visitor.ts'
import type { World } from './world.ts'

/** Requests of which each waits for the one before it. */
type Line = readonly TraceRequest[]

/** Brings the requests of a trace into the world, one after the other: what has not come yet takes no room there. */
export class Arrivals {
  readonly #world: World
  readonly #lines: readonly Line[]
  readonly #onEnd: (visitor: Visitor) => void
  readonly #streams: ConversationStreams

  constructor(world: World, requests: readonly TraceRequest[], onEnd: (visitor: Visitor) => void) {
    this.#world = world
    this.#lines = linesOf(requests)
    this.#streams = new ConversationStreams(requests)
    this.#onEnd = onEnd
  }

  begin(): void {
    this.#beginLine(0)
  }

  #beginLine(index: number): void {
    const line = this.#lines[index]
    const [first] = line ?? []
    if (line === undefined || first === undefined) return
    this.#world.after(first.at - this.#world.now, () => {
      this.#visit(line, 0)
      this.#beginLine(index + 1)
    })
  }

  #visit(line: Line, index: number): void {
    const request = line[index]
    if (request === undefined) return
    this.#world.request(
      this.#visitOf(request, (visitor) => {
        this.#onEnd(visitor)
        this.#goOn(line, index + 1)
      }),
    )
  }

  #goOn(line: Line, index: number): void {
    const request = line[index]
    if (request === undefined) return
    const { now } = this.#world
    const at = Math.max(request.at, now + (request.think ?? 0))
    this.#world.after(at - now, () => this.#visit(line, index))
  }

  #visitOf(
    { model, hold, priority, timeout, conversation, turn = 0, tokens, cached = 0, disk = 0 }: TraceRequest,
    onEnd: (visitor: Visitor) => void,
  ): VisitRequest {
    const visit: VisitRequest = { model, hold, onEnd }
    if (conversation !== undefined) {
      const { chain, answered } = this.#streams.request(conversation, turn)
      visit.chain = chain
      visit.answered = answered
    }
    if (priority !== undefined) visit.priority = priority
    if (timeout !== undefined) visit.timeout = timeout
    if (tokens !== undefined) visit.prompt = { tokens, cached, disk }
    return visit
  }
}

/** In the order in which their first requests come. */
function linesOf(requests: readonly TraceRequest[]): readonly Line[] {
  const lines: TraceRequest[][] = []
  const open = new Map<string, TraceRequest[]>()
  for (const request of requests) {
    const { conversation, think } = request
    const line = conversation === undefined ? undefined : open.get(conversation)
    if (think !== undefined && line !== undefined) line.push(request)
    else {
      const fresh = [request]
      lines.push(fresh)
      if (conversation !== undefined) open.set(conversation, fresh)
    }
  }
  return lines.sort((a, b) => (a[0]?.at ?? 0) - (b[0]?.at ?? 0))
}
