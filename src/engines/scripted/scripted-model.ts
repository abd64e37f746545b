import type { MeasuredFootprint } from '../../host/memory.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { ExitReport, LoadedModel, LoadPlan, RunOptions } from '../engine.ts'
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
    if (task.kind === 'embedding') return runEmbedding(task, options.signal, this.#host)
    if (task.kind === 'rerank') return runRanking(task, options.signal, this.#host)
    return runText(task, options, this.#host)
  }

  async countTokens(task: Task): Promise<number> {
    this.#host.lifetime.check()
    if (task.kind === 'embedding') return countInputs(task)
    return task.kind === 'rerank' ? countPairs(task) : tokensOfPrompt(task).length
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
