import { dropBeginningsOf, dropContext, dropOutgrown, findContext, setContexts } from './context-budget.ts'
import { blend, isTail, learnSpeed, savedTime } from './context-worth.ts'
import { contextsDraft, contextsWith, instanceWith, leaseWith, modelDraft, type Draft } from './copies.ts'
import type { ConfirmedUsage, EventOf } from './messages.ts'
import type { HeldLease, Instance, ModelContexts, ParkedContext } from './state.ts'
import { announce, changeModel, command, findInstance, setInstance, type Step } from './step.ts'

/** Part of the expected tokens that must be confirmed, or the restore did not hold. */
const CONFIRMED = 0.25
/** Restores in a row that did not hold until the model is no longer parked (BR-49). */
const STRIKES = 2
/** Evaluated tokens from which on a prefill tells how fast prompts are. */
const TELLING = 32
/** The same for the end of a prompt of which the rest was there. */
const TELLING_END = 8

/** What earlier servers left, as the folder was found at start. */
export function contextsFound(step: Step, { contexts, room }: EventOf<'contexts-found'>): void {
  const known = new Set(step.state.contexts.parked.map(({ id }) => id))
  const found = contexts
    .filter(({ id }) => !known.has(id))
    .map((context) => ({ ...context, writer: undefined, isSettled: true }))
  const numbers = found.map(({ id }) => Number(id.split('-').at(-1)) || 0)
  const number = Math.max(step.state.contexts.number, ...numbers)
  step.state.contexts = {
    ...step.state.contexts,
    parked: [...step.state.contexts.parked, ...found],
    room,
    number,
  }
  for (const { id } of found) dropOutgrown(step, id)
}

/** BR-56: how much the disk has room for changes all the time. */
export function contextRoomMeasured(step: Step, { room }: EventOf<'context-room-measured'>): void {
  step.state.contexts = { ...step.state.contexts, room }
}

export function parkFinished(step: Step, event: EventOf<'park-finished'>): void {
  const context = findContext(step.state, event.context)
  // Its lease or its model ended meanwhile: nobody counts on it.
  if (context === undefined) return command(step, { type: 'remove-context', context: event.context })
  const { bytes, took } = event
  const written: ParkedContext = { ...context, bytes, writer: undefined }
  replace(step, written)
  learnFromWriting(step, written, took)
  const { id, model, tokens } = written
  announce(step, 'context-parked', { model, context: id, tokens, bytes, took })
  dropOutgrown(step, id)
}

/** What was parked survives a kill at any moment: earlier turns go when the later one is safe, and not before. */
export function parkSettled(step: Step, { context: id }: EventOf<'park-settled'>): void {
  const context = findContext(step.state, id)
  if (context === undefined) return
  const settled = { ...context, isSettled: true }
  replace(step, settled)
  dropBeginningsOf(step, settled)
}

export function parkFailed(step: Step, { context: id, reason }: EventOf<'park-failed'>): void {
  const context = findContext(step.state, id)
  if (context !== undefined) dropContext(step, context, `it could not be written: ${reason}`)
}

/** Any doubt: prefill again, and the file goes. */
export function restoreFinished(step: Step, event: EventOf<'restore-finished'>): void {
  const { instance: id, slot, lease: leaseId, isRestored, took } = event
  const context = findContext(step.state, event.context)
  const instance = findInstance(step.state, id)
  const lease = instance?.slots[slot]?.lease
  if (instance !== undefined && lease?.id === leaseId) {
    const expected = isRestored ? lease.expected : 0
    noteRead(step, instance, slot, leaseWith(lease, { expected, readIn: took }))
  }
  if (isRestored) {
    if (context === undefined) return
    const { model, tokens } = context
    replace(step, { ...context, usedAt: step.at })
    learnFromReading(step, context, took)
    announce(step, 'context-restored', { model, instance: id, context: context.id, tokens, took })
    return dropOutgrown(step, context.id)
  }
  if (context !== undefined) dropContext(step, context, 'it could not be read back, or is of another model')
}

function noteRead(step: Step, instance: Instance, index: number, lease: HeldLease): void {
  const read = leaseWith(lease, { reading: undefined })
  const slot = { chain: [], tokens: 0, usedAt: step.at, lease: read }
  setInstance(step, instanceWith(instance, { slots: instance.slots.with(index, slot) }))
}

export function contextsUnwanted(step: Step, { contexts, model }: EventOf<'contexts-unwanted'>): void {
  for (const context of step.state.contexts.parked) {
    const isMeant = contexts?.includes(context.id) ?? (model === undefined || context.model === model)
    if (isMeant && context.writer === undefined) dropContext(step, context, 'an operator asked for it')
  }
}

/** Deleted with the model. */
export function dropContextsOf(step: Step, model: string, reason: string): void {
  for (const context of step.state.contexts.parked)
    if (context.model === model) dropContext(step, context, reason)
}

/** BR-51, BR-61: what was parked before the weights, the engine or the kind of cache changed can never be read again. */
export function dropForeign(step: Step, instance: Instance): void {
  for (const context of step.state.contexts.parked) {
    if (context.model !== instance.model || context.identity === instance.stateIdentity) continue
    if (context.writer === undefined)
      dropContext(step, context, 'the weights, the engine or the kind of cache are others now')
  }
}

function replace(step: Step, changed: ParkedContext): void {
  setContexts(
    step,
    step.state.contexts.parked.map((context) => (context.id === changed.id ? changed : context)),
  )
}

function learnFromWriting(step: Step, { model: id, bytes, tokens }: ParkedContext, took: number): void {
  const contexts = step.state.models.get(id)?.contexts
  // Small files are mostly headers and say nothing of large ones.
  if (contexts === undefined || tokens < TELLING) return
  const bytesPerToken = Math.max(contexts.bytesPerToken ?? 0, bytes / tokens)
  const writeSpeed = learnSpeed(contexts.writeSpeed, bytes, took)
  changeModel(step, id, { contexts: contextsWith(contexts, { bytesPerToken, writeSpeed }) })
}

function learnFromReading(step: Step, { model: id, bytes }: ParkedContext, took: number): void {
  const contexts = step.state.models.get(id)?.contexts
  if (contexts === undefined) return
  const readSpeed = learnSpeed(contexts.readSpeed, bytes, took)
  changeModel(step, id, { contexts: contextsWith(contexts, { readSpeed }) })
}

/** R19: what the engine confirmed is what counts: of speed, of tokens spared, of restores that hold. */
export function learnFromRun(
  step: Step,
  instance: Instance,
  lease: HeldLease,
  event: EventOf<'lease-released'>,
): void {
  const { usage } = event
  const model = step.state.models.get(instance.model)
  if (usage === undefined || model === undefined) return
  const contexts = contextsDraft(model.contexts)
  learnPace(contexts, usage)
  countReuse(contexts, lease, usage.cachedTokens)
  const wiser = modelDraft(model)
  wiser.contexts = contexts
  step.state.models = step.state.models.with(instance.model, wiser)
  if (contexts.unfit === undefined || model.contexts.unfit !== undefined) return
  const message = `Contexts of "${instance.model}" are no longer parked: ${contexts.unfit}.`
  announce(step, 'warning-raised', { code: 'contexts_unfit', message })
  dropContextsOf(step, instance.model, contexts.unfit)
}

/** What the end of a prompt takes says nothing of a whole one, unless nothing else is known. */
function learnPace(
  known: Draft<ModelContexts>,
  { promptTokens, cachedTokens, prefill }: ConfirmedUsage,
): void {
  const { prefillPerToken, tailPerToken } = known
  const evaluated = promptTokens - cachedTokens
  const seen = prefill / Math.max(1, evaluated)
  const isEnd = isTail(evaluated, cachedTokens)
  if (prefill <= 0 || evaluated < (isEnd ? TELLING_END : TELLING)) return
  if (isEnd) known.tailPerToken = blend(tailPerToken, seen)
  const isTold = evaluated >= TELLING && (!isEnd || prefillPerToken === undefined)
  if (isTold) known.prefillPerToken = blend(prefillPerToken, seen)
}

/** BR-49: a restore counts when the next run's reused tokens prove it, and not before. */
function countReuse(counted: Draft<ModelContexts>, { expected, readIn }: HeldLease, cached: number): void {
  counted.savedMs += savedTime(cached, counted.prefillPerToken, readIn)
  counted.savedTokens += cached
  if (expected === 0) return
  const held = cached >= expected * CONFIRMED
  if (held) counted.restored++
  counted.strikes = held ? 0 : counted.strikes + 1
  if (counted.strikes < STRIKES) return
  counted.unfit = `${counted.strikes} restores in a row were reported done, and of ${expected} tokens ${cached} were used again`
}
