import { abortable, abortError, onAbort } from '../../base/abort.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { asMeasured } from '../declared-memory.ts'
import type { AskModel, ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
import type { Lifetime } from '../lifetime.ts'
import { requireRoom, requireTask } from '../task-checks.ts'
import { CustomAnswer } from './custom-answer.ts'
import { requireMeasure, requirePieces, requireTokens } from './custom-checks.ts'
import type { CustomBody, CustomEnd, CustomPart } from './engine-definition.ts'
import { OtherModels } from './other-models.ts'
import { ownError } from './own-error.ts'
import { promptWords } from './prompt-words.ts'

type Pieces = AsyncGenerator<CustomPart, CustomEnd | void, void>

/** Keeps the contract around what an engine of one's own does: checks, limits, stop strings, cancelling, the end. */
export class CustomLoadedModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly exited: Promise<ExitReport>
  lastProgress?: number
  readonly #body: CustomBody
  readonly #lifetime: Lifetime
  readonly #ask: AskModel | undefined
  readonly #running = new Set<AbortController>()
  #unloading: Promise<void> | undefined

  constructor(plan: LoadPlan, body: CustomBody, lifetime: Lifetime, ask: AskModel | undefined) {
    this.plan = plan
    this.exited = lifetime.exited
    this.#body = body
    this.#lifetime = lifetime
    this.#ask = ask
  }

  async *run(task: Task, options: RunOptions): PartStream {
    this.#lifetime.check(options.signal)
    const own = new AbortController()
    const unlisten = onAbort(options.signal, () => own.abort(abortError(options.signal)))
    this.#running.add(own)
    try {
      const promptTokens = await this.#admit(task, own.signal)
      return yield* this.#answer(task, promptTokens, options, own.signal)
    } catch (error) {
      throw own.signal.aborted ? abortError(own.signal) : ownError(this.plan.engine, error)
    } finally {
      unlisten()
      own.abort() // Ends what it asked of others when the reader has left.
      this.#running.delete(own)
    }
  }

  async countTokens(task: Task): Promise<number> {
    this.#lifetime.check()
    return await this.#told(async () =>
      requireTokens(await (this.#body.countTokens?.(task) ?? promptWords(task))),
    )
  }

  async warmUp(signal: AbortSignal): Promise<void> {
    this.#lifetime.check(signal)
    await this.#told(async () => await this.#body.warmUp?.(signal))
    this.#moved()
  }

  async memory(): Promise<MeasuredFootprint> {
    this.#lifetime.check()
    return await this.#told(async () => {
      const measured = await this.#body.memory?.()
      return measured === undefined ? asMeasured(this.plan.footprint) : requireMeasure(measured)
    })
  }

  async ping(): Promise<void> {
    this.#lifetime.check()
  }

  unload(): Promise<void> {
    this.#unloading ??= this.#unload()
    return this.#unloading
  }

  /** All that could refuse the task. @returns tokens of its prompt */
  async #admit(task: Task, signal: AbortSignal): Promise<number> {
    requireTask(task, this.plan)
    const promptTokens = await abortable(this.countTokens(task), signal)
    if (task.kind === 'chat' || task.kind === 'completion') requireRoom(promptTokens, this.plan.contextSize)
    return promptTokens
  }

  async *#answer(
    task: Task,
    promptTokens: number,
    { slot, within }: RunOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Part, Result, void> {
    const begun = this.#moved()
    const answer = new CustomAnswer(task, this.plan.contextSize - promptTokens)
    yield { type: 'started', promptTokens, cachedTokens: 0 }
    const models = new OtherModels({ plan: this.plan, ask: this.#ask, within, signal })
    const end = answer.ended
      ? undefined
      : yield* this.#pieces(answer, requirePieces(this.#body.run(task, { slot, signal, models })), signal)
    const rest = answer.rest()
    if (rest !== undefined) yield rest
    return answer.result(promptTokens, { prefill: 0, decode: this.#moved() - begun }, end)
  }

  /** A generator that does not mind its signal is left behind: it ends at its next piece. */
  async *#pieces(
    answer: CustomAnswer,
    pieces: Pieces,
    signal: AbortSignal,
  ): AsyncGenerator<Part, CustomEnd | undefined, void> {
    try {
      while (!answer.ended) {
        const step = await abortable(pieces.next(), signal)
        this.#moved()
        if (step.done === true) return step.value ?? undefined
        const part = answer.take(step.value)
        if (part !== undefined) yield part
      }
      return undefined
    } finally {
      left(pieces)
    }
  }

  /** @throws ModelyardError with the engine's name in whatever it threw */
  async #told<Told>(work: () => Promise<Told>): Promise<Told> {
    try {
      return await work()
    } catch (error) {
      throw ownError(this.plan.engine, error)
    }
  }

  #moved(): number {
    this.lastProgress = this.#lifetime.clock.now()
    return this.lastProgress
  }

  async #unload(): Promise<void> {
    const cut = new ModelyardError('run_cut', `Model "${this.plan.model}" was unloaded while it answered.`)
    for (const running of this.#running) running.abort(cut)
    let reason = 'it was unloaded.'
    try {
      await this.#body.unload?.()
    } catch (error) {
      reason = `it was unloaded, and freeing it failed: ${ownError(this.plan.engine, error).message}`
    }
    this.#lifetime.end({ expected: true, reason, logTail: [] })
    await this.exited
  }
}

/** Iterators written by hand may have no `return`, or throw in it. */
function left(pieces: Pieces): void {
  const end = async (): Promise<unknown> => await (pieces as Partial<Pieces>).return?.(undefined)
  end().catch(() => undefined)
}
