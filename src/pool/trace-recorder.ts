import type { HostReading } from '../host/memory.ts'
import type { Fingerprint } from '../tasks/fingerprint.ts'
import { ConversationNumbers, type ConversationTurn } from './conversation-numbers.ts'
import type { PoolLimits, Priority } from './limits.ts'
import { domainsOf, ledger } from './policy/budget.ts'
import type { Decision } from './policy/decide.ts'
import type { ConfirmedUsage, PoolCommand, PoolEvent, TicketRequest } from './policy/messages.ts'
import type { Charges, PoolState } from './policy/state.ts'
import { TRACE_VERSION, type HeaderLine, type ModelLine, type RequestLine } from './simulation/trace-lines.ts'

/** A request on its way. */
interface Open {
  readonly model: string
  readonly arrivedAt: number
  readonly priority: Priority
  readonly turn: ConversationTurn | undefined
  readonly chain: Fingerprint
  readonly think: number | undefined
  grantedAt: number | undefined
  /** Milliseconds in which contexts were written and read before its run. */
  disk: number
}

/**
 * Writes a trace for `modelyard simulate` while the pool works: what came when, for which model, how long it held its slot, and how many
 * tokens it begins with that an earlier conversation had. Of what people write nothing is in it, nor anything by which a text could be tried:
 * conversations are numbers in order of appearance.
 */
export class TraceRecorder {
  readonly #write: (line: string) => void
  readonly #conversations = new ConversationNumbers()
  readonly #open = new Map<string, Open>()
  /** Ticket by lease. */
  readonly #leases = new Map<string, string>()
  /** Ticket by context that is written before its run. */
  readonly #writing = new Map<string, string>()
  /** When each conversation was last answered. */
  readonly #answeredAt = new Map<number, number>()
  readonly #models = new Map<string, string>()
  /** Models of which a copy could park, and those whose speed is described. */
  readonly #parking = new Map<string, Pick<ModelLine, 'parks' | 'savesWhileAnswering'>>()
  readonly #measured = new Set<string>()
  #startedAt: number | undefined

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  /** The first line. */
  begin(limits: PoolLimits, host: HostReading): void {
    const [memory, total]: [Charges, Charges] = [{}, {}]
    for (const domain of domainsOf(limits.memory)) memory[domain] = limits.memory[domain]?.budget ?? 0
    for (const domain of domainsOf(host)) total[domain] = host[domain]?.total ?? 0
    const { headroom, maxLargeModels, smallModel, concurrency, queue, queuePerModel, threads, swapPatience } =
      limits
    const { mode, budget } = limits.parking ?? { mode: 'off' }
    const contexts = mode === 'off' ? {} : { contexts: budget ?? true }
    const numbers = {
      headroom,
      maxLargeModels,
      smallModel,
      concurrency,
      queue,
      queuePerModel,
      threads,
      swapPatience,
      ...contexts,
    }
    this.#line({ modelyardTrace: TRACE_VERSION, memory, host: total, ...numbers } satisfies HeaderLine)
  }

  /** To be called after each decision. */
  readonly observe = (before: PoolState, event: PoolEvent, { state, commands }: Decision): void => {
    this.#startedAt ??= event.at
    if (event.type === 'ticket-arrived') this.#noteArrival(event.ticket, event.at)
    if (event.type === 'ticket-aborted') this.#end(event.ticket, event.at)
    this.#noteDisk(event)
    if (event.type === 'lease-released') this.#release(event.lease, event.at, event.chain, event.usage)
    for (const command of commands) this.#noteCommand(command, event.at)
    if (event.type === 'model-declared') this.#describe(state, event.model.id)
    if (!('instance' in event) || event.instance === undefined) return
    const instance = before.instances.find(({ id }) => id === event.instance)
    if (instance === undefined) return
    const { model, stateIdentity, savesWhileAnswering } = instance
    if (stateIdentity !== undefined)
      this.#parking.set(model, { parks: true, ...(savesWhileAnswering && { savesWhileAnswering }) })
    const isDescribed = event.type === 'warm-up-finished' || event.type === 'memory-returned'
    if (isDescribed || this.#isNewlyMeasured(state, model)) this.#describe(state, model)
  }

  /** How fast a model reads is known only after its first long prompt, and its copy may outlive the recording. */
  #isNewlyMeasured({ models }: PoolState, model: string): boolean {
    if (this.#measured.has(model) || models.get(model)?.contexts.prefillPerToken === undefined) return false
    this.#measured.add(model)
    return true
  }

  #noteCommand(command: PoolCommand, at: number): void {
    if (command.type === 'refuse-ticket') this.#end(command.ticket, at)
    if (command.type === 'cut-lease') this.#release(command.lease, at, undefined)
    if (command.type !== 'grant-lease') return
    const open = this.#open.get(command.ticket)
    if (open === undefined) return
    open.grantedAt = at
    this.#leases.set(command.lease, command.ticket)
    for (const { context } of command.park ?? []) this.#writing.set(context, command.ticket)
  }

  /** What comes before a run is a part of how long its slot was held, and is another at each replay. */
  #noteDisk(event: PoolEvent): void {
    if (event.type === 'restore-finished') this.#addDisk(this.#leases.get(event.lease), event.took)
    if (event.type !== 'park-finished' && event.type !== 'park-failed') return
    if (event.type === 'park-finished') this.#addDisk(this.#writing.get(event.context), event.took)
    this.#writing.delete(event.context)
  }

  #addDisk(ticket: string | undefined, took: number): void {
    const open = ticket === undefined ? undefined : this.#open.get(ticket)
    if (open !== undefined) open.disk += took
  }

  #noteArrival({ id, model, wants, chain, priority }: TicketRequest, at: number): void {
    if (wants !== 'lease') return
    const turn = this.#conversations.turnOf(chain)
    const answeredAt = turn === undefined ? undefined : this.#answeredAt.get(turn.conversation)
    const think = answeredAt === undefined ? undefined : at - answeredAt
    this.#open.set(id, { model, arrivedAt: at, priority, turn, chain, think, grantedAt: undefined, disk: 0 })
  }

  #release(lease: string, at: number, chain: Fingerprint | undefined, usage?: ConfirmedUsage): void {
    const ticket = this.#leases.get(lease)
    this.#leases.delete(lease)
    if (ticket === undefined) return
    const turn = this.#open.get(ticket)?.turn
    if (turn !== undefined && chain !== undefined) this.#conversations.note(chain, turn)
    this.#end(ticket, at, usage)
  }

  /** Who left or was refused before it had a slot is written with as long as it waited, and held nothing. */
  #end(ticket: string, at: number, usage?: ConfirmedUsage): void {
    const open = this.#open.get(ticket)
    if (open === undefined || this.#startedAt === undefined) return
    this.#open.delete(ticket)
    const { model, arrivedAt, grantedAt, priority, turn, think, disk } = open
    const beginning = this.#beginningOf(open, usage)
    if (turn !== undefined) this.#answeredAt.set(turn.conversation, at)
    this.#line({
      at: arrivedAt - this.#startedAt,
      model,
      hold: grantedAt === undefined ? 0 : at - grantedAt,
      ...(grantedAt === undefined && { timeout: at - arrivedAt }),
      ...(priority !== 'normal' && { priority }),
      ...(turn !== undefined && { conversation: `c${turn.conversation}`, turn: turn.turn }),
      ...(beginning !== undefined && { beginning }),
      ...(think !== undefined && { think }),
      ...(usage !== undefined && { tokens: usage.promptTokens }),
      ...(usage !== undefined && usage.cachedTokens > 0 && { cached: usage.cachedTokens }),
      ...(disk > 0 && { disk }),
    } satisfies RequestLine)
  }

  #beginningOf({ turn, chain }: Open, usage: ConfirmedUsage | undefined): RequestLine['beginning'] {
    if (turn === undefined || usage === undefined) return undefined
    const shared = this.#conversations.beginningOf(chain, turn, usage.promptTokens)
    return shared === undefined ? undefined : { of: `c${shared.of}`, tokens: shared.tokens }
  }

  /** What is known of the model now, if that is more than before. */
  #describe({ models }: PoolState, id: string): void {
    const state = models.get(id)
    if (state === undefined) return
    const { plan, minInstances, maxInstances, keepAlive, pinned } = state.model
    const { slots, threads, contextSize } = plan
    const { prefillPerToken, bytesPerToken } = state.contexts
    const loadTime = state.loadTime === undefined ? undefined : Math.round(state.loadTime)
    const model: ModelLine = {
      id,
      bytes: ledger([state.needs]),
      ...(loadTime !== undefined && { loadTime, warmUpTime: 0 }),
      slots,
      threads,
      minInstances,
      maxInstances,
      keepAlive,
      pinned,
      contextSize,
      ...this.#parking.get(id),
      ...(prefillPerToken !== undefined && { prefillPerToken }),
      ...(bytesPerToken !== undefined && { bytesPerToken: Math.ceil(bytesPerToken) }),
    }
    const line = JSON.stringify({ model })
    if (this.#models.get(id) === line) return
    this.#models.set(id, line)
    this.#write(line)
  }

  #line(line: object): void {
    this.#write(JSON.stringify(line, rounded))
  }
}

/** Tenths of milliseconds are of no use to anybody. */
function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value) : value
}
