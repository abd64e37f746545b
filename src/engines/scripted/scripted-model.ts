import type { MeasuredFootprint } from '../../host/memory.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import { writesText, type Task } from '../../tasks/task.ts'
import { stopOf, type ExitReport, type LoadedModel, type LoadPlan, type RunOptions } from '../engine.ts'
import { asMeasured } from '../declared-memory.ts'
import type { Lifetime } from '../lifetime.ts'
import { tokensOfPrompt } from './prompt-tokens.ts'
import { compileScript, type CompiledEntry } from './script.ts'
import { countInputs, runEmbedding } from './scripted-embedding.ts'
import type { ScriptedOptions } from './scripted-options.ts'
import { countPairs, runRanking } from './scripted-ranking.ts'
import { runText, type ScriptedHost } from './scripted-run.ts'
import { ScriptedSlot } from './scripted-slot.ts'

/** Where nothing is scripted, the user's own words come back. */
const ECHO: readonly CompiledEntry[] = compileScript([{ echo: 'user' }])

/** A script in memory. */
export class ScriptedModel implements LoadedModel {
  readonly plan: LoadPlan
  readonly takesStop = true
  readonly exited: Promise<ExitReport>
  readonly stateIdentity: string
  lastProgress?: number
  readonly #host: ScriptedHost

  constructor(
    plan: LoadPlan,
    options: ScriptedOptions,
    script: readonly CompiledEntry[] = ECHO,
    lifetime: Lifetime,
  ) {
    this.plan = plan
    this.stateIdentity = plan.key
    this.exited = lifetime.exited
    const slots = Array.from({ length: plan.slots }, () => new ScriptedSlot())
    const onProgress = (now: number): void => {
      this.lastProgress = now
    }
    this.#host = { plan, options, script, slots, lifetime, onProgress }
  }

  run(task: Task, options: RunOptions): PartStream {
    if (task.kind === 'embedding') return runEmbedding(task, stopOf(options), this.#host)
    if (task.kind === 'rerank') return runRanking(task, stopOf(options), this.#host)
    // All other kinds are refused there, as the plan says.
    return runText(task as ChatTask | CompletionTask, options, this.#host)
  }

  async countTokens(task: Task): Promise<number> {
    this.#host.lifetime.check()
    if (task.kind === 'embedding') return countInputs(task)
    if (task.kind === 'rerank') return countPairs(task)
    return writesText(task) ? tokensOfPrompt(task).length : 0
  }

  async warmUp(signal: AbortSignal): Promise<void> {
    this.#host.lifetime.check(signal)
    this.#host.onProgress(this.#host.lifetime.clock.now())
  }

  async memory(): Promise<MeasuredFootprint> {
    this.#host.lifetime.check()
    return asMeasured(this.plan.footprint)
  }

  async ping(): Promise<void> {
    this.#host.lifetime.check()
  }

  async saveSlot(slot: number, path: string): Promise<{ tokens: number; bytes: number }> {
    this.#host.lifetime.check()
    return await this.#slot(slot).save(path, this.plan.key)
  }

  async restoreSlot(slot: number, path: string): Promise<boolean> {
    this.#host.lifetime.check()
    return await this.#slot(slot).restore(path, this.plan.key)
  }

  async unload(): Promise<void> {
    this.#host.lifetime.end({ expected: true, reason: 'it was unloaded.', logTail: [] })
    await this.exited
  }

  #slot(index: number): ScriptedSlot {
    const slot = this.#host.slots[index]
    if (slot === undefined) throw new ModelyardError('internal', `There is no slot ${index}.`)
    return slot
  }
}
