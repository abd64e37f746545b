import { ModelyardError } from '../../base/errors.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { RunOptions } from '../engine.ts'
import type { LlamaContext } from './llama-module.ts'
import { InProcessModel } from '../in-process/in-process-model.ts'
import { promptOf } from './prompt.ts'
import { isSealedFor, sealSlotFile } from '../llama-cpp/slot-file.ts'
import type { PromptThreads } from './prompt-threads.ts'
import type { Slot } from './slot.ts'
import { requireText, runText, type TextHost } from './text-run.ts'

const WARM_UP = { temperature: 0, topK: 1, topP: 1, minP: 0, seed: 0, yieldEogToken: true }
/** One piece of a prompt, to see how fast they are evaluated, and one token more for the first of the answer. */
const WARM_UP_TOKENS = 17

export interface TextModelParts extends TextHost {
  context: LlamaContext
  slots: readonly Slot[]
  threads: PromptThreads
  /** Engine version and all else that decides whether a parked context can be read back. */
  stateIdentity: string
  release: () => void
}

/** A model that writes: one context with a sequence for each slot. */
export class TextModel extends InProcessModel {
  readonly #parts: TextModelParts

  constructor(parts: TextModelParts) {
    super(parts.plan, parts.lifetime)
    this.#parts = parts
  }

  get stateIdentity(): string {
    return this.#parts.stateIdentity
  }

  get savesWhileAnswering(): boolean {
    return true
  }

  shareCores(isAlone: boolean): void {
    this.#parts.threads.isAlone = isAlone
  }

  override run(task: Task, options: RunOptions): PartStream {
    return runText(task, options, this.#slot(options.slot), this.#parts)
  }

  override async countTokens(task: Task): Promise<number> {
    this.lifetime.check()
    return promptOf(requireText(task, this.plan), this.#parts).tokens.length
  }

  /** One real token after a prompt long enough to measure by; nothing of it stays. */
  override async warmUp(signal: AbortSignal): Promise<void> {
    this.lifetime.check()
    const slot = this.#slot(0)
    const { vocabulary } = this.#parts
    const { lifetime } = this
    const prompt = vocabulary.tokenizePrompt(['1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20'])
    const length = Math.min(WARM_UP_TOKENS, this.plan.contextSize - 1)
    await slot.work.add(async () => {
      await slot.clear()
      const rest = await slot.prefill(
        prompt.slice(0, length),
        () => signal.aborted,
        () => lifetime.moved(),
      )
      if (signal.aborted) return
      const steps = slot.sequence.evaluateWithMetadata(rest, {}, WARM_UP)
      await steps.next()
      await steps.return()
      await slot.clear()
      lifetime.moved()
    })
    signal.throwIfAborted()
  }

  async saveSlot(index: number, path: string): Promise<{ tokens: number; bytes: number }> {
    this.lifetime.check()
    const slot = this.#slot(index)
    const save = async (): Promise<number> => this.#save(slot, index, path)
    // Between two tokens of an answer all that is evaluated is as it will stay; a prompt has to be whole first.
    const tokens = await (slot.isAnswering ? save() : slot.work.add(save))
    return { tokens, bytes: await sealSlotFile(path, this.#parts.stateIdentity) }
  }

  /** @returns tokens in the file */
  async #save(slot: Slot, index: number, path: string): Promise<number> {
    if (slot.tokens === 0)
      throw new ModelyardError('invalid_request', `Slot ${index} is empty; there is nothing to save.`)
    return slot.alone(async () => {
      await slot.sequence.saveStateToFile(path)
      return slot.tokens
    })
  }

  /** The slot is empty when it did not work. */
  async restoreSlot(index: number, path: string): Promise<boolean> {
    this.lifetime.check()
    const slot = this.#slot(index)
    return slot.work.add(async () => {
      await slot.clear()
      if (!(await isSealedFor(path, this.#parts.stateIdentity))) return false
      try {
        await slot.alone(() => slot.sequence.loadStateFromFile(path, { acceptRisk: true }))
        return true
      } catch {
        slot.markBroken()
        return false
      }
    })
  }

  override async unload(): Promise<void> {
    const { slots, context, model, release } = this.#parts
    await this.lifetime.unload(
      async () => {
        await Promise.all(slots.map(async ({ work }) => work.idle()))
      },
      async () => {
        await Promise.all(slots.map(async (slot) => slot.close()))
        await context.dispose()
        await model.dispose()
        release()
      },
    )
  }

  #slot(index: number): Slot {
    const slot = this.#parts.slots[index]
    if (slot !== undefined) return slot
    throw new ModelyardError('internal', `Model "${this.plan.model}" has no slot ${index}.`)
  }
}
