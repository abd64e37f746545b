import { devicesAmong } from '../../host/memory.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { MeasuredFootprint } from '../../host/memory.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { stopOf, type LoadPlan, type RunOptions, type SavedSlot } from '../engine.ts'
import { ServerModel, type ServerModelParts } from '../supervision/server-model.ts'
import { requireTask } from '../task-checks.ts'
import { countPooled, runPooled, type PooledHost } from './pooled-run.ts'
import { promptOf } from './prompt.ts'
import type { SavedSlots } from './saved-slots.ts'
import type { TextHost } from './text-host.ts'
import { runText, type TextTask } from './text-run.ts'

/** Enough to see how fast prompts are evaluated; where that is known, one will do. */
const WARM_UP_WORDS = 24

export interface LlamaServerModelParts extends ServerModelParts {
  host: TextHost & PooledHost
  /** Absent = slots cannot be saved. */
  slots: SavedSlots | undefined
  /** What a process holds on devices. */
  deviceBytes: (pid: number) => MeasuredFootprint
  /** How many tokens a second are evaluated was measured before. */
  isSpeedKnown: boolean
}

/** A model in a llama-server of its own. */
export class LlamaServerModel extends ServerModel {
  readonly stateIdentity?: string
  readonly saveSlot?: (slot: number, path: string) => Promise<SavedSlot>
  readonly checkSlotFile?: (path: string) => Promise<boolean>
  readonly restoreSlot?: (slot: number, path: string, isWhole?: boolean) => Promise<boolean>
  readonly #parts: LlamaServerModelParts

  constructor(plan: LoadPlan, parts: LlamaServerModelParts) {
    super(plan, parts)
    this.#parts = parts
    const { slots, life } = parts
    if (slots === undefined) return
    this.stateIdentity = slots.identity
    this.saveSlot = (slot, path) =>
      life.during(undefined, async (signal) => await slots.save(this.#slot(slot), path, signal))
    this.checkSlotFile = async (path) => await slots.check(path)
    this.restoreSlot = (slot, path, isWhole) =>
      life.during(
        undefined,
        async (signal) => await slots.restore({ slot: this.#slot(slot), path, isWhole }, signal),
      )
  }

  override run(task: Task, options: RunOptions): PartStream {
    const { slot, keptPrefix } = options
    return this.life.stream(stopOf(options), (both) =>
      this.#start(task, { slot: this.#slot(slot), keptPrefix, signal: both }),
    )
  }

  override async countTokens(task: Task, signal?: AbortSignal): Promise<number> {
    const { host } = this.#parts
    return await this.life.during(signal, async (both) => {
      if (task.kind === 'embedding' || task.kind === 'rerank') return await countPooled(task, host, both)
      const { content } = await promptOf(this.#textTask(task), host)
      if (typeof content === 'string' || Array.isArray(content))
        return await host.vocabulary.count(content, both)
      throw new ModelyardError(
        'unsupported',
        `Tokens of images cannot be counted ahead for "${this.plan.model}".`,
      )
    })
  }

  /** One real token or vector. What it tells of the speed of prefill decides how much the next load evaluates at once. */
  override async warmUp(signal: AbortSignal): Promise<void> {
    const { facts, contextSize } = this.plan
    if (facts.purpose !== 'generation') return await this.#warmUpPooled(signal)
    const most = this.#parts.isSpeedKnown ? 1 : WARM_UP_WORDS
    const words = Array.from({ length: Math.min(most, contextSize >> 2) }, (_, index) => index)
    const task: Task = {
      kind: 'completion',
      prompt: words.join(' '),
      sampling: { temperature: 0 },
      stop: [],
      maxTokens: 1,
    }
    await readThrough(this.run(task, { slot: 0, keptPrefix: 0, signal }))
  }

  override async memory(): Promise<MeasuredFootprint> {
    const memory = await super.memory()
    const onDevices = devicesAmong(this.plan.footprint).length > 0
    return onDevices ? { ...this.#parts.deviceBytes(this.pid), ...memory } : memory
  }

  async #warmUpPooled(signal: AbortSignal): Promise<void> {
    const task: Task =
      this.plan.facts.purpose === 'rerank'
        ? { kind: 'rerank', query: '1', documents: ['1'] }
        : { kind: 'embedding', inputs: ['1'] }
    await readThrough(this.run(task, { slot: 0, keptPrefix: 0, signal }))
  }

  #start(task: Task, options: RunOptions): AsyncGenerator<Part, Result, void> {
    const { host } = this.#parts
    if (task.kind === 'embedding' || task.kind === 'rerank') return runPooled(task, options.signal, host)
    return runText(this.#textTask(task), options, host)
  }

  /** @throws unsupported for a kind of task that gives no text here */
  #textTask(task: Task): TextTask {
    requireTask(task, this.plan)
    if (task.kind === 'chat' || task.kind === 'completion') return task
    throw new ModelyardError('unsupported', `Model "${this.plan.model}" cannot do ${task.kind} tasks.`, {
      details: { param: 'model', task: task.kind },
    })
  }

  /** The server takes any free slot for one that it has not. */
  #slot(index: number): number {
    if (Number.isInteger(index) && index >= 0 && index < this.plan.slots) return index
    throw new ModelyardError(
      'invalid_request',
      `There is no slot ${index}; this model has ${this.plan.slots}.`,
    )
  }
}

async function readThrough(parts: PartStream): Promise<Result> {
  let step = await parts.next()
  while (step.done !== true) step = await parts.next()
  return step.value
}
