import { waitAtMost, type Clock, type Timer } from './base/clock.ts'
import { toModelyardError } from './base/errors.ts'
import { SharedWork } from './base/shared-work.ts'
import type { Engine, ModelList } from './engines/engine.ts'
import type { EventBus } from './events/event-bus.ts'
import type { ModelSpec } from './models/model-spec.ts'
import type { ServedList, ServedModels } from './models/served-models.ts'

/** Milliseconds until an endpoint is asked again that could not be asked yet. */
const RETRY = 60_000
/** Milliseconds that a start waits for lists that nothing is known of. */
const FIRST_LIST = 5000
/** Milliseconds for one answer. */
const PATIENCE = 15_000

export interface ModelListsSurroundings {
  clock: Clock
  bus: EventBus
  engines: ReadonlyMap<string, Engine>
  served: ServedModels
}

/** Asks endpoints which models they have: at the start, with a period, and when somebody wants to know. The one writer of {@link ServedModels}. */
export class ModelLists {
  readonly #surroundings: ModelListsSurroundings
  readonly #work = new SharedWork<void>()
  readonly #timers = new Map<string, Timer>()
  readonly #periods = new Map<string, number>()
  readonly #closing = new AbortController()

  constructor(surroundings: ModelListsSurroundings) {
    this.#surroundings = surroundings
  }

  /** Other entries; each is asked in the background. Resolves when all that nothing is known of have answered, after 5 s at most. */
  async replace(templates: readonly ModelSpec[]): Promise<void> {
    const { served, clock } = this.#surroundings
    const before = new Set(served.templates())
    served.replace(templates)
    const now = served.templates()
    const ids = new Set(now.map(({ id }) => id))
    for (const id of [...this.#timers.keys()].filter((known) => !ids.has(known))) this.#forget(id)
    const asked = now.filter((template) => !before.has(template)).map((template) => this.#ask(template))
    const unknown = served.lists().some(({ toldAt }) => toldAt === null)
    if (unknown) await waitAtMost(clock, FIRST_LIST, Promise.all(asked))
  }

  /** Asks all endpoints now. What cannot be asked is told in its list. */
  async refresh(): Promise<ServedList[]> {
    const { served } = this.#surroundings
    await Promise.all(served.templates().map((template) => this.#ask(template)))
    return served.lists()
  }

  close(): void {
    this.#closing.abort()
    for (const id of this.#timers.keys()) this.#forget(id)
  }

  #forget(id: string): void {
    this.#timers.get(id)?.cancel()
    this.#timers.delete(id)
    this.#periods.delete(id)
  }

  /** Never rejects. */
  async #ask(template: ModelSpec): Promise<void> {
    await this.#work
      .join(JSON.stringify(template), this.#closing.signal, async (signal) => this.#askNow(template, signal))
      .catch(() => undefined)
  }

  async #askNow(template: ModelSpec, signal: AbortSignal): Promise<void> {
    const { clock, engines } = this.#surroundings
    const { id: entry } = template
    const late = new AbortController()
    const deadline = clock.setTimer(PATIENCE, () => late.abort())
    try {
      const list = await engines
        .get(template.engine ?? '')
        ?.listModels?.(template, AbortSignal.any([signal, late.signal]))
      if (list !== undefined && this.#isCurrent(template)) this.#told(template, list)
    } catch (error) {
      if (signal.aborted || !this.#isCurrent(template)) return
      const why = late.signal.aborted ? 'it did not answer within 15 s.' : toModelyardError(error).message
      this.#failed(entry, `The models of ${entry} could not be listed: ${why}`)
    } finally {
      deadline.cancel()
    }
    this.#schedule(template, this.#periods.get(entry) ?? RETRY)
  }

  #told({ id: entry }: ModelSpec, { models, refreshAfter }: ModelList): void {
    const { clock, bus, served } = this.#surroundings
    this.#periods.set(entry, refreshAfter)
    const { added, vanished } = served.told(entry, models, clock.wallTime())
    if (added.length + vanished.length > 0) bus.emit('model-list-changed', { entry, added, vanished })
  }

  /** Told once, not with every try. */
  #failed(entry: string, problem: string): void {
    const { bus, served } = this.#surroundings
    const known = served.lists().find((list) => list.entry === entry)?.problem
    served.failed(entry, problem)
    if (known !== problem) bus.emit('warning-raised', { code: 'model_list_failed', message: problem })
  }

  #schedule(template: ModelSpec, period: number): void {
    if (this.#closing.signal.aborted || !this.#isCurrent(template)) return
    this.#timers.get(template.id)?.cancel()
    if (period <= 0) return
    const timer = this.#surroundings.clock.setTimer(period, () => void this.#ask(template))
    this.#timers.set(template.id, timer)
  }

  /** Whether the configuration still says what was asked for. */
  #isCurrent(template: ModelSpec): boolean {
    return this.#surroundings.served.templates().includes(template)
  }
}
