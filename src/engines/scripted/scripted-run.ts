import type { StopSignal } from '../../base/cancellation.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import { stopOf, type LoadPlan, type RunOptions } from '../engine.ts'
import type { Lifetime } from '../lifetime.ts'
import { tokensOfPrompt, tokensText, type PromptToken } from './prompt-tokens.ts'
import { findEntry, type CompiledEntry } from './script.ts'
import { promptLogprobs, textSteps, type Step } from './script-steps.ts'
import { ScriptedAnswer } from './scripted-answer.ts'
import type { ScriptedOptions } from './scripted-options.ts'
import type { ScriptedSlot } from './scripted-slot.ts'
import { requireRoom, requireTask } from '../task-checks.ts'
import { askedText, checkTokenIds } from './task-checks.ts'
import { sufferTrouble } from './trouble.ts'

type TextTask = ChatTask | CompletionTask

/** What a run needs of the model it runs on. */
export interface ScriptedHost {
  plan: LoadPlan
  options: ScriptedOptions
  script: readonly CompiledEntry[]
  slots: readonly ScriptedSlot[]
  lifetime: Lifetime
  onProgress: (now: number) => void
}

interface ScriptedRunParts {
  task: TextTask
  signal: StopSignal
  /** What the entry was found by: the last user text, or the prompt. */
  asked: string
  entry: CompiledEntry
  slot: ScriptedSlot
  prompt: PromptToken[]
}

/** A text run. Without delays it costs a few microseconds: no timer, and no promise but the stream's own. */
export async function* runText(task: TextTask, options: RunOptions, host: ScriptedHost): PartStream {
  const run = new ScriptedRun(host, admit(task, options, host))
  const exceeding = run.enter(options.keptPrefix)
  try {
    if (run.prefills) await run.prefill()
    yield run.start()
    const echoed = run.echoed()
    if (echoed !== undefined) yield echoed
    const steps = run.steps(exceeding)
    for (let index = 0; !run.ended; index++) {
      const step = steps[index]
      if (run.troubled) await run.suffer(index, step === undefined)
      if (step === undefined) break
      if (step.delay > 0) await run.wait(step.delay)
      const part = run.take(step)
      if (part !== undefined) yield part
    }
    const rest = run.rest()
    if (rest !== undefined) yield rest
    return run.result()
  } finally {
    run.leave()
  }
}

/** All that could refuse the task, before anything is touched. */
function admit(task: TextTask, options: RunOptions, host: ScriptedHost): ScriptedRunParts {
  const { slot: index } = options
  const signal = stopOf(options)
  host.lifetime.check(signal)
  requireTask(task, host.plan)
  const prompt = tokensOfPrompt(task)
  requireRoom(prompt.length, host.plan.contextSize)
  const { vocabularySize } = host.options
  checkTokenIds(task.kind === 'completion' ? task.prompt : '', vocabularySize, 'prompt')
  checkTokenIds(Object.keys(task.sampling.logitBias ?? {}).map(Number), vocabularySize, 'logit_bias')
  const slot = host.slots[index]
  if (slot === undefined) throw new ModelyardError('internal', `There is no slot ${index}.`)
  const asked = askedText(task)
  const role = task.kind === 'chat' ? task.messages.at(-1)?.role : undefined
  const entry = findEntry(host.script, asked, role)
  if (entry === undefined) {
    throw new ModelyardError(
      'engine_failed',
      'No entry of the script matches what was asked; add one with match ".*".',
    )
  }
  return { task, signal, asked, entry, slot, prompt }
}

class ScriptedRun {
  readonly #host: ScriptedHost
  readonly #parts: ScriptedRunParts
  readonly #answer: ScriptedAnswer
  #begun = 0
  #decoding = 0
  #cached = 0

  constructor(host: ScriptedHost, parts: ScriptedRunParts) {
    const room = host.plan.contextSize - parts.prompt.length
    this.#host = host
    this.#parts = parts
    this.#answer = new ScriptedAnswer(parts.task, parts.entry, Math.min(parts.task.maxTokens ?? room, room))
  }

  get ended(): boolean {
    return this.#answer.ended
  }

  get troubled(): boolean {
    return this.#parts.entry.troubles.length > 0
  }

  /** @returns what the slot held in excess of this prompt */
  enter(keptPrefix: number): string {
    const { cached, exceeding } = this.#parts.slot.enter(this.#parts.prompt, keptPrefix)
    this.#cached = cached
    this.#begun = this.#host.lifetime.clock.now()
    return exceeding
  }

  leave(): void {
    this.#parts.slot.leave(this.#answer.text)
  }

  /** Whether the prompt takes any time at all. */
  get prefills(): boolean {
    return this.troubled || this.#parts.entry.prefill > 0
  }

  async prefill(): Promise<void> {
    const { entry } = this.#parts
    if (this.troubled) await this.suffer(-1, false)
    if (entry.prefill > 0) await this.wait(entry.prefill)
  }

  async wait(milliseconds: number): Promise<void> {
    await this.#host.lifetime.wait(milliseconds, this.#parts.signal)
  }

  start(): Part {
    const { prompt, entry } = this.#parts
    const { promptTokens = prompt.length, cachedTokens = this.#cached } = entry.usage
    this.#decoding = this.#host.lifetime.clock.now()
    this.#host.onProgress(this.#decoding)
    return { type: 'started', promptTokens, cachedTokens }
  }

  /** The prompt itself, where a completion wants it back. */
  echoed(): Part | undefined {
    const { task, asked } = this.#parts
    const wanted = task.kind === 'completion' && task.echo === true && asked !== ''
    if (!wanted) return undefined
    return task.topLogprobs === undefined
      ? { type: 'text', text: asked }
      : { type: 'text', text: asked, promptLogprobs: promptLogprobs(asked) }
  }

  steps(exceeding: string): readonly Step[] {
    const { entry, asked, prompt } = this.#parts
    if (entry.echo === undefined) return entry.steps
    const heard = entry.echo === 'slot' ? exceeding : asked
    const text = entry.echo === 'prompt' ? tokensText(prompt) : heard
    return [...textSteps(text, entry), ...entry.steps]
  }

  /** What the script has go wrong before step `index` (`last`: at it or any later place). */
  async suffer(index: number, last: boolean): Promise<void> {
    const { entry, signal } = this.#parts
    for (const trouble of entry.troubles) {
      const due = trouble.at === index || (last && trouble.at > index)
      if (due) await sufferTrouble(trouble, this.#host.lifetime, signal)
    }
  }

  take(step: Step): Part | undefined {
    const { lifetime, onProgress } = this.#host
    lifetime.checkRun(this.#parts.signal)
    onProgress(lifetime.clock.now())
    return this.#answer.wants(step) ? this.#answer.take(step) : undefined
  }

  rest(): Part | undefined {
    return this.#answer.rest()
  }

  result(): Result {
    const { completionTokens, reasoningTokens, finishReason, stopSequence } = this.#answer
    const promptTokens = this.#parts.prompt.length
    const counted = { promptTokens, cachedTokens: this.#cached, completionTokens, reasoningTokens }
    const now = this.#host.lifetime.clock.now()
    const timings = { prefill: this.#decoding - this.#begun, decode: now - this.#decoding }
    const result: Result = { finishReason, usage: { ...counted, ...this.#parts.entry.usage }, timings }
    return stopSequence === undefined ? result : { ...result, stopSequence }
  }
}
