import type { SerializedError } from '../../base/errors.ts'
import type { YardEvents } from '../../events/event-map.ts'
import type { HostReading, MemoryDomain } from '../../host/memory.ts'
import type { Fingerprint } from '../../tasks/fingerprint.ts'
import type { PoolLimits } from '../limits.ts'
import { instanceWith, modelWith, stateCopy, type Draft } from './copies.ts'
import type { EventOf, FactType, PoolCommand } from './messages.ts'
import type {
  Asked,
  Charges,
  Holder,
  Instance,
  ModelState,
  ParkedContext,
  PoolState,
  Slot,
  Ticket,
} from './state.ts'
import { NO_ALARM } from './state.ts'
import type { Table } from './table.ts'
import type { Wait } from './wait.ts'

/** One decision in the making. Lives no longer than the call of `decide`; the states it passes through are never changed in place. */
export interface Step {
  /** A copy of the state before, changed field by field; all that hangs from it is replaced, never changed. */
  readonly state: Draft<PoolState>
  readonly at: number
  readonly rules: Rules
  readonly commands: PoolCommand[]
  /** The host's memory, when this very event brought it: older readings decide nothing (R5). */
  host: HostReading | undefined
  /** Something can only be decided with a fresh reading. */
  wantsHost: boolean
  /** Kept for as long as the instances are the same. */
  books: Books | undefined
  /** Kept for as long as the models are the same. */
  costs: Costs | undefined
  /** Nobody who waits is better or worse off for what happened. */
  isOfNoMatter: boolean
  /** The next moment at which time alone changes a decision. */
  wakeAt: number
}

/** What losing each instance would cost at this moment, as far as that was asked for. */
interface Costs {
  /** The models that this holds for. */
  readonly of: Table<ModelState>
  readonly known: Map<Instance, number>
}

/** Sums over all instances. */
export interface Books {
  /** The instances they are of. */
  readonly of: readonly Instance[]
  /** Those who hold memory when all that leaves has left. */
  readonly staying: readonly Instance[]
  readonly now: Charges
  readonly soon: Charges
  /** Those who are never evicted. */
  readonly protected: readonly Instance[]
}

/** What older tickets have claimed in this walk, so that younger ones do not take it from them (R9). */
export interface Turn {
  /** Loads that older tickets will start. */
  readonly reserved: Holder[]
  /** Instances that will be gone by then. */
  promised: ReadonlySet<string>
  /** Instances that take no younger tickets, and for whom. */
  held: ReadonlyMap<string, Hold>
  threadsReserved: number
  /** Tickets per model that a load in progress will serve. */
  covered: ReadonlyMap<string, number>
  waits: ReadonlyMap<string, Wait>
}

/** For which model an instance makes way, and since when that is asked for. */
export interface Hold {
  readonly model: string
  readonly since: number
}

/** A free slot for a ticket, and how well it fits (R3). */
export interface SlotChoice {
  readonly instance: Instance
  readonly index: number
  readonly fit: 'continues' | 'empty' | 'divergent'
}

/** A load that is asked for. */
export interface Demand extends Holder {
  /** Absent: for `minInstances`. */
  readonly ticket: Ticket | undefined
  readonly force: boolean
}

/** The host's memory does not cover a load. */
export interface Shortage {
  readonly domain: MemoryDomain
  readonly needed: number
  /** Absent: cannot be read. */
  readonly available: number | undefined
}

export type Handlers = { readonly [Type in FactType]: (step: Step, event: EventOf<Type>) => void }

/** The rules as replaceable pieces: `decide` takes them with a default, and a test proves each by putting a wrong one in its place. */
export interface Rules {
  readonly handlers: Handlers
  /** R2 */
  readonly walk: (step: Step) => void
  readonly classOf: (ticket: Ticket, at: number, limits: PoolLimits) => number
  /** R3 */
  readonly accepts: (instance: Instance, model: ModelState) => boolean
  readonly chooseSlot: (open: readonly Instance[], chain: Fingerprint, at: number) => SlotChoice | undefined
  readonly keptPrefix: (slot: Slot, chain: Fingerprint) => number
  readonly awaitedBeginning: (step: Step, ticket: Ticket, choice: SlotChoice) => Wait | undefined
  readonly endsLease: (slot: Slot, lease: string, at: number) => boolean
  /** P4 */
  readonly mayRun: (state: PoolState) => boolean
  /** R4 */
  readonly ledger: (holders: readonly Holder[]) => Charges
  /** R5 */
  readonly shortage: (
    state: PoolState,
    reading: HostReading,
    demand: Holder,
    leaving: readonly Instance[],
    claims?: readonly Holder[],
  ) => Shortage | undefined
  /** R6 */
  readonly impossible: (step: Step, demand: Demand) => SerializedError | undefined
  /** R7 */
  readonly mayEvict: (step: Step, instance: Instance, demand: Demand | undefined) => boolean
  readonly chooseVictims: (
    candidates: readonly Instance[],
    isSoft: (instance: Instance) => boolean,
    enough: (victims: readonly Instance[]) => boolean,
    costOf: (instance: Instance) => number,
  ) => readonly Instance[] | undefined
  readonly costOf: (step: Step, instance: Instance) => number
  readonly askedLately: (asked: Asked, at: number) => number
  readonly safeUntil: (instance: Instance, limits: PoolLimits) => number
  /** R9 */
  readonly isOwed: (ticket: Ticket, at: number, limits: PoolLimits) => boolean
  readonly turnEndsAt: (instance: Instance, limits: PoolLimits) => number
  readonly isEntitled: (ticket: Ticket, instance: Instance) => boolean
  /** R10 */
  readonly isWanted: (state: PoolState, load: Instance) => boolean
  readonly mayAdd: (state: PoolState, model: ModelState) => boolean
  /** R11 */
  readonly backoff: (failures: number, limits: PoolLimits) => number
  /** R13 */
  readonly expiresAt: (instance: Instance, model: ModelState, limits: PoolLimits) => number
  readonly spareCopies: (state: PoolState, model: ModelState) => number
  /** R17 */
  readonly threadsFree: (step: Step, turn: Turn, instance: Instance, within?: string) => boolean
  /** P14 */
  readonly fitsTogether: (step: Step, model: ModelState) => boolean
  /** R16 */
  readonly isWorthParking: (
    state: PoolState,
    model: ModelState,
    instance: Instance,
    tokens: { lost: number; held: number },
  ) => boolean
  readonly makeContextSpace: (step: Step, wanted: ParkedContext, spared?: string) => boolean
  readonly fitsInstance: (context: ParkedContext, instance: Instance) => boolean
}

/** Notes a moment at which the decision must be made anew, though nothing else may happen until then. */
export function wake(step: Step, at: number): void {
  if (at > step.at && at < step.wakeAt) step.wakeAt = at
}

export function command(step: Step, order: PoolCommand): void {
  step.commands.push(order)
}

export function announce<Name extends keyof YardEvents>(
  step: Step,
  name: Name,
  data: YardEvents[Name],
): void {
  step.commands.push({ type: 'announce', name, data } as PoolCommand)
}

export function findInstance(state: PoolState, id: string): Instance | undefined {
  for (const instance of state.instances) if (instance.id === id) return instance
  return undefined
}

/** Puts a changed instance in the place of the one with its id. */
export function setInstance(step: Step, changed: Instance): void {
  const { instances } = step.state
  const index = instances.findIndex((instance) => instance.id === changed.id)
  step.state.instances = instances.with(index, changed)
}

export function changeInstance(step: Step, id: string, change: Partial<Instance>): Instance | undefined {
  const instance = findInstance(step.state, id)
  if (instance === undefined) return undefined
  const changed = instanceWith(instance, change)
  setInstance(step, changed)
  return changed
}

/** F18: the one meant and no other. */
export function removeInstance(step: Step, id: string): void {
  const instances = step.state.instances.filter((instance) => instance.id !== id)
  step.state.instances = instances
}

export function changeModel(step: Step, id: string, change: Partial<ModelState>): void {
  const model = step.state.models.get(id)
  if (model !== undefined) step.state.models = step.state.models.with(id, modelWith(model, change))
}

/** Copies of a model made after its present plan, those on their way out included. */
export function copiesOf(state: PoolState, model: ModelState): Instance[] {
  const { id, plan } = model.model
  return state.instances.filter((instance) => instance.model === id && instance.plan.key === plan.key)
}

export function ticketsOf(state: PoolState, model: string): readonly Ticket[] {
  for (const queue of state.queues) if (queue.model === model) return queue.tickets
  return []
}

/** Most walks have nothing to note; they need no maps of their own. */
const NO_IDS: ReadonlySet<string> = new Set()
const NO_ENTRIES: ReadonlyMap<string, never> = new Map<string, never>()

export function newTurn(): Turn {
  return {
    reserved: [],
    promised: NO_IDS,
    held: NO_ENTRIES,
    threadsReserved: 0,
    covered: NO_ENTRIES,
    waits: NO_ENTRIES,
  }
}

/** The entries of a turn with one more; who has none yet gets a map of its own. They are handed on only when the turn is over. */
export function noted<Value>(
  entries: ReadonlyMap<string, Value>,
  id: string,
  value: Value,
): ReadonlyMap<string, Value> {
  const own = entries === NO_ENTRIES ? new Map<string, Value>() : (entries as Map<string, Value>)
  return own.set(id, value)
}

export function newStep(state: PoolState, at: number, rules: Rules): Step {
  return {
    state: stateCopy(state),
    at,
    rules,
    commands: [],
    host: undefined,
    wantsHost: false,
    books: undefined,
    costs: undefined,
    isOfNoMatter: false,
    wakeAt: NO_ALARM,
  }
}
