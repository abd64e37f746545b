import type { SerializedError } from '../../base/errors.ts'
import type { CommandOf, PoolFact } from '../policy/messages.ts'
import { answeredChain } from './conversations.ts'
import type { Copy, PhysicalSlot } from './copy.ts'
import type { MachineSurroundings } from './machine-surroundings.ts'
import { SMALL_DELAY, type Machine } from './machine.ts'
import { confirmedUsage, runTimes, type RunTimes } from './run-times.ts'
import { newVisitor, ticketOf, type Manner, type VisitRequest, type Visitor } from './visitor.ts'

/** Those who come to the simulated yard: they ask, wait, hold what they were granted, and leave in various ways. */
export class Lobby {
  readonly visitors: Map<string, Visitor> = new Map()
  /** What the policy should have prevented: a grant to nobody, a slot that is not there. */
  readonly absurdities: string[] = []
  readonly #machine: Machine
  readonly #around: MachineSurroundings
  readonly #isForgetful: boolean
  #count = 0

  constructor(machine: Machine, around: MachineSurroundings, isForgetful = false) {
    this.#machine = machine
    this.#around = around
    this.#isForgetful = isForgetful
  }

  request(request: VisitRequest): Visitor {
    this.#count++
    const visitor = newVisitor(`ticket-${this.#count}`, request, this.#around.now())
    this.visitors.set(visitor.ticket, visitor)
    this.#around.report({ type: 'ticket-arrived', ticket: ticketOf(visitor) })
    return visitor
  }

  /** The visitor leaves at this moment, whatever it is doing. */
  abort(visitor: Visitor): void {
    if (visitor.outcome === 'waiting') {
      this.#end(visitor, 'aborted')
      this.#around.report({ type: 'ticket-aborted', ticket: visitor.ticket, model: visitor.request.model })
    } else if (visitor.outcome === 'granted') this.#finish(visitor, 'fails')
  }

  perform(command: CommandOf<'grant-lease' | 'cut-lease' | 'refuse-ticket' | 'answer-load'>): void {
    if (command.type === 'grant-lease') return this.#grant(command)
    if (command.type === 'cut-lease') return this.#cut(command)
    if (command.type === 'refuse-ticket') return this.#refuse(command.ticket, command.error)
    const visitor = this.#waiting(command.ticket, 'answered')
    if (visitor !== undefined) this.#end(visitor, 'done')
  }

  /** Every ticket ends exactly once. */
  #waiting(ticket: string, how: string): Visitor | undefined {
    const visitor = this.visitors.get(ticket)
    if (visitor?.outcome !== 'waiting')
      this.absurdities.push(`${ticket} is ${how} and was ${visitor?.outcome}`)
    return visitor
  }

  #grant(command: CommandOf<'grant-lease'>): void {
    const copy = this.#machine.copies.get(command.instance)
    const slot = copy?.slots[command.slot]
    const asker = this.visitors.get(command.ticket)
    if (copy !== undefined && asker !== undefined)
      asker.promised = this.#machine.shelf.promisedBy(copy, command)
    // F8: whoever left in the meantime gives it back at once.
    if (asker?.outcome === 'aborted') return this.#giveBack(command)
    const visitor = this.#waiting(command.ticket, 'granted')
    if (copy === undefined || slot === undefined || copy.isGone || copy.stage !== 'ready') {
      this.absurdities.push(`${command.lease} is for ${command.instance}, which is ${copy?.stage}`)
    }
    if (slot?.visitor !== undefined) this.absurdities.push(`${command.lease} shares a slot`)
    if (visitor === undefined || copy === undefined || slot === undefined) return
    visitor.outcome = 'granted'
    visitor.granted = command
    visitor.grantedAt = this.#around.now()
    if (visitor.request.manner !== 'leaves') this.#machine.shelf.prepare(copy, command)
    slot.visitor = visitor
    const bytes = command.restore === undefined ? 0 : this.#machine.shelf.bytesOf(command.restore)
    const times = runTimes(visitor.request, command, copy.model, bytes)
    visitor.promptAt = visitor.grantedAt + times.prompt
    visitor.usage = confirmedUsage(visitor.request, command, copy.model)
    this.#evaluatePrompt(visitor, slot, times)
    this.#holdFor(visitor, copy, times)
  }

  #giveBack({ lease, instance, slot }: CommandOf<'grant-lease'>): void {
    this.#around.report({
      type: 'lease-released',
      lease,
      instance,
      slot,
      chain: undefined,
      untouched: true,
      unprepared: true,
    })
  }

  /** What is in the slot when its prompt was evaluated is what others may copy. */
  #evaluatePrompt(visitor: Visitor, place: PhysicalSlot, times: RunTimes): void {
    const { granted, request, usage } = visitor
    const { manner = 'answers', chain = [] } = request
    if (granted === undefined || manner === 'leaves' || chain.length === 0) return
    const { lease, instance, slot } = granted
    const promptTokens = usage?.promptTokens ?? 0
    this.#around.after(times.prompt, () => {
      if (visitor.outcome !== 'granted' || place.visitor !== visitor) return
      place.content = chain
      this.#around.report({ type: 'prompt-evaluated', lease, instance, slot, promptTokens })
    })
  }

  #holdFor(visitor: Visitor, copy: Copy, { run }: RunTimes): void {
    const { manner = 'answers' } = visitor.request
    const crashes = this.#around.random() < (copy.model.crashing ?? 0)
    this.#around.after(run, () => {
      if (visitor.outcome !== 'granted') return
      if (crashes) this.#machine.crash(copy)
      else this.#useOthers(visitor, manner, copy.model.uses ?? [])
    })
  }

  /** P14: its run asks for other models, one after the other, and ends when it had them all. */
  #useOthers(visitor: Visitor, manner: Manner, left: readonly string[]): void {
    const [model, ...rest] = left
    if (visitor.outcome !== 'granted') return
    if (model === undefined || manner === 'leaves') return this.#finish(visitor, manner)
    const part = this.request({ model, hold: 100, within: visitor })
    visitor.parts.push(part)
    const look = (): void => {
      if (part.outcome === 'waiting' || part.outcome === 'granted') this.#around.after(20, look)
      else this.#useOthers(visitor, manner, rest)
    }
    look()
  }

  #finish(visitor: Visitor, manner: Manner): void {
    const { granted, request, usage } = visitor
    if (granted === undefined) return
    const { lease, instance, slot } = granted
    // They go while its slot still holds what it computed, for until its own end is told others may copy that.
    this.#leaveParts(visitor)
    const chain = manner === 'answers' ? (request.answered ?? answeredChain(request.chain ?? [])) : undefined
    this.#vacate(granted, manner === 'leaves' ? 'untouched' : chain)
    this.#end(visitor, 'done')
    const untouched = manner === 'leaves'
    const unprepared = request.manner === 'leaves'
    const type = 'lease-released'
    const release: PoolFact =
      manner === 'answers' && usage !== undefined
        ? { type, lease, instance, slot, chain, untouched, unprepared, usage }
        : { type, lease, instance, slot, chain, untouched, unprepared }
    this.#around.report(release)
    if (request.twice === true) this.#around.after(SMALL_DELAY, () => this.#around.report({ ...release }))
  }

  #vacate({ instance, slot }: CommandOf<'grant-lease'>, content: VisitRequest['chain'] | 'untouched'): void {
    const copy = this.#machine.copies.get(instance)
    const place = copy?.slots[slot]
    if (copy === undefined || place === undefined) return
    if (content !== 'untouched') place.content = content
    place.visitor = undefined
    copy.lastUsedAt = this.#around.now()
  }

  #cut(command: CommandOf<'cut-lease'>): void {
    for (const visitor of this.visitors.values()) {
      if (visitor.granted?.lease !== command.lease || visitor.outcome !== 'granted') continue
      this.#vacate(visitor.granted, undefined)
      this.#end(visitor, 'cut')
    }
  }

  #refuse(ticket: string, error: SerializedError): void {
    // Whoever left while this was decided hears nothing of it.
    if (this.visitors.get(ticket)?.outcome === 'aborted') return
    const visitor = this.#waiting(ticket, 'refused')
    if (visitor === undefined) return
    visitor.refusedWith = error
    this.#end(visitor, 'refused')
  }

  #end(visitor: Visitor, outcome: Visitor['outcome']): void {
    this.#leaveParts(visitor)
    visitor.outcome = outcome
    visitor.endedAt = this.#around.now()
    // Whoever left may still be meant by a grant that is on its way.
    if (this.#isForgetful && outcome !== 'aborted') this.visitors.delete(visitor.ticket)
    visitor.request.onEnd?.(visitor)
  }

  #leaveParts({ parts }: Visitor): void {
    for (const part of parts) this.abort(part)
  }
}
