import type { MemoryDomain } from '../../host/memory.ts'
import type { Priority } from '../limits.ts'
import type { Decision } from '../policy/decide.ts'
import type { PoolEvent } from '../policy/messages.ts'
import type { PoolState } from '../policy/state.ts'
import { requestChain } from './conversations.ts'
import { limitsOf, modelOf, pick, type History } from './history.ts'
import { Inspector } from './inspector.ts'
import { changesSomething, leftoverOf, openVisitor } from './settled-world.ts'
import { Violation } from './violation.ts'
import type { Manner, Visitor } from './visitor.ts'
import { World, type Look } from './world.ts'

export interface PlayOptions {
  decide?: (state: PoolState, event: PoolEvent) => Decision
  observe?: (look: Look) => void
}

const DOMAINS: readonly MemoryDomain[] = ['ram', 'gpu:0']
/** Long enough for everybody to be served one after the other. */
const LONG = 3_600_000
/** Longer than any unload, backoff or look at the host takes. */
const STRETCH = 120_000
const STOP_DEADLINE = 5000

const DELAYS = [0, 0, 1, 50, 400, 1500, 6000] as const
const HOLDS = [300, 0, 1000, 5000, 20_000] as const
const MANNERS: readonly Manner[] = ['answers', 'answers', 'answers', 'fails', 'leaves']
const PRIORITIES: readonly Priority[] = ['normal', 'normal', 'interactive', 'background']

/** Plays a history under inspection, then waits for everybody to be served, then stops. Throws a {@link Violation}. */
export function playHistory(history: History, options: PlayOptions = {}): World {
  const inspector = new Inspector()
  const player = new Player(history, options, inspector)
  player.playAll()
  player.expectAnEndForEverybody()
  player.expectNoLeftovers()
  player.expectAStop()
  return player.world
}

class Player {
  readonly world: World
  readonly #history: History
  readonly #visitors: Visitor[] = []
  #revision = 0
  /** Nothing changed since this was set. */
  #isQuiet = false

  constructor(history: History, options: PlayOptions, inspector: Inspector) {
    this.#history = history
    const limits = limitsOf(history.limits)
    this.world = new World({
      limits,
      host: { ram: pick([150, 120, 100], history.limits[11]), 'gpu:0': 60 },
      seed: history.seed,
      ...(options.decide === undefined ? {} : { decide: options.decide }),
      observe: (look) => {
        inspector.observe(look)
        options.observe?.(look)
        if (changesSomething(look)) this.#isQuiet = false
      },
    })
  }

  playAll(): void {
    for (const [index, numbers] of this.#history.models.entries()) this.world.declare(modelOf(index, numbers))
    for (const action of this.#history.actions) {
      this.world.run(this.world.now + pick(DELAYS, action[1]))
      this.#act(...action)
    }
  }

  #act(what: number, _delay: number, model: number, x: number, y: number): void {
    const index = model % Math.max(1, this.#history.models.length)
    const id = `m${index}`
    const copies = [...this.world.copies.values()]
    const copy = copies[x % Math.max(1, copies.length)]
    switch (what) {
      case 12:
      case 13:
      case 14:
        return this.#abortSome(x)
      case 15:
        return this.world.unload(id, y % 2 === 1)
      case 16:
        return copy === undefined ? undefined : this.world.machine.crash(copy)
      case 17:
        return copy === undefined ? undefined : this.world.machine.grow(copy, pick([1.3, 0.9, 2], y))
      case 18:
        return this.#redeclare(index, x, y)
      case 19:
        return this.#changeSurroundings(id, x, y)
      default:
        return this.#visit(what, id, x, y)
    }
  }

  #visit(what: number, model: string, x: number, y: number): void {
    const isLoad = what === 11
    const visitor = this.world.request({
      model,
      chain: isLoad ? [] : requestChain(pick(['s', 't'], x), `c${y % 3}`, x % 3),
      priority: pick(PRIORITIES, what),
      hold: pick(HOLDS, x + y),
      manner: pick(MANNERS, y),
      twice: x % 3 === 0,
      wants: isLoad ? 'instance' : 'lease',
      force: isLoad && y % 2 === 1,
      immediate: what === 10,
      ...(y === 7 ? { timeout: 3000 } : {}),
      ...(x === 6 ? { keepAlive: pick([0, -1, 2000], y) } : {}),
    })
    this.#visitors.push(visitor)
    if (what === 9) this.world.abort(visitor)
  }

  #abortSome(x: number): void {
    const open = this.#visitors.filter(({ outcome }) => outcome === 'waiting' || outcome === 'granted')
    const visitor = open[x % Math.max(1, open.length)]
    if (visitor !== undefined) this.world.abort(visitor)
  }

  /** Another plan, other pins, or gone for good. */
  #redeclare(index: number, x: number, y: number): void {
    const numbers = [...(this.#history.models[index] ?? [])]
    if (y === 7) return this.world.withdraw(`m${index}`)
    if (y % 2 === 0) this.#revision++
    if (x % 2 === 0) numbers[9] = y
    this.world.declare(modelOf(index, numbers, this.#revision))
  }

  #changeSurroundings(model: string, x: number, y: number): void {
    if (x < 5) return this.world.machine.setForeign(pick(DOMAINS, x), pick([0, 30, 90], y))
    if (x === 5)
      return this.world.send({
        type: 'unload-requested',
        model: undefined,
        instance: `${model}#1`,
        force: false,
      })
    const numbers = [...this.#history.limits]
    numbers[y] = (numbers[y] ?? 0) + 1
    this.world.send({ type: 'limits-changed', limits: limitsOf(numbers) })
  }

  /** No ticket waits for ever (R9), and what ends, ends once. */
  expectAnEndForEverybody(): void {
    for (const domain of DOMAINS) this.world.machine.setForeign(domain, 0)
    this.#settle()
    const open = openVisitor(this.world)
    if (open !== undefined)
      throw new Violation('R9', `${open.ticket} for ${open.request.model} is ${open.outcome} for ever`)
  }

  /**
   * An hour, or until everybody is served, all are gone who should go, and nothing has changed since for a stretch. A copy that is to be kept
   * and can never fit is tried again every two seconds: three of four events of all histories would be that.
   */
  #settle(): void {
    const end = this.world.now + LONG
    for (let isSettled = false; !isSettled && this.world.now < end;) {
      this.#isQuiet = true
      this.world.run(Math.min(end, this.world.now + STRETCH))
      isSettled =
        this.#isQuiet && openVisitor(this.world) === undefined && leftoverOf(this.world) === undefined
    }
  }

  /** R13, R8: an hour later nothing is left that should have gone. */
  expectNoLeftovers(): void {
    const leftover = leftoverOf(this.world)
    if (leftover !== undefined) throw leftover
  }

  /** P12 */
  expectAStop(): void {
    const last = this.world.request({ model: 'm0', hold: 60_000 })
    this.world.send({ type: 'stop-requested', deadline: STOP_DEADLINE })
    this.world.send({ type: 'stop-requested', deadline: STOP_DEADLINE })
    this.world.run(this.world.now + STOP_DEADLINE + 200_000)
    if (last.outcome === 'waiting' || last.outcome === 'granted')
      throw new Violation('P12', 'a visitor is left after the stop')
    const [left] = this.world.copies.keys()
    if (left !== undefined || this.world.state.instances.length > 0)
      throw new Violation('P12', `${left} is left after the stop`)
    if (this.world.state.runs !== 0)
      throw new Violation('F9', `${this.world.state.runs} runs are left after the stop`)
  }
}
