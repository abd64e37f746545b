import { createId } from '../../base/ids.ts'
import { StopMatcher } from '../../templates/stop-matcher.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { FinishReason, Part, TokenLogprob } from '../../tasks/part.ts'
import type { CompiledEntry } from './script.ts'
import { tokenLogprob, type ScriptToken, type Step } from './script-steps.ts'

/**
 * Plays steps under the task's limits: counts tokens, holds back what may become a stop string, leaves out what the task rules out.
 * Stop strings are looked for in the text alone, not in reasoning or calls.
 */
export class ScriptedAnswer {
  readonly #task: ChatTask | CompletionTask
  readonly #mostTokens: number
  readonly #stops: StopMatcher | undefined
  readonly #wanted: Finish
  #heldLogprobs: TokenLogprob[] = []
  #finish: FinishReason | undefined
  #calls = 0
  #textSaid = ''
  completionTokens = 0
  reasoningTokens = 0

  constructor(task: ChatTask | CompletionTask, entry: CompiledEntry, mostTokens: number) {
    this.#task = task
    this.#mostTokens = mostTokens
    this.#stops = task.stop.length === 0 ? undefined : new StopMatcher(task.stop)
    this.#wanted = entry.finishReason
    if (mostTokens <= 0) this.#finish = 'length'
  }

  /** True when nothing more may come. */
  get ended(): boolean {
    return this.#finish !== undefined
  }

  get finishReason(): FinishReason {
    return this.#finish ?? this.#wanted ?? (this.#calls > 0 ? 'tool-calls' : 'stop')
  }

  get stopSequence(): string | undefined {
    return this.#stops?.matched
  }

  /** All text that was shown, for what the slot holds afterwards. */
  get text(): string {
    return this.#textSaid
  }

  /** Whether the task wants this step at all: no reasoning when it is switched off, no calls when they are not wanted. */
  wants(step: Step): boolean {
    if (step.kind === 'text' || this.#task.kind !== 'chat') return step.kind === 'text'
    if (step.kind === 'reasoning') return this.#task.reasoning?.enabled !== false
    if (this.#task.toolChoice === 'none') return false
    return this.#task.parallelToolCalls !== false || step.index === 0
  }

  /** Counts a token. @returns what is shown because of it, if anything */
  take(step: Step): Part | undefined {
    this.completionTokens++
    const part = this.#part(step)
    if (this.#finish === undefined && this.completionTokens >= this.#mostTokens) this.#finish = 'length'
    return part
  }

  /** What was held back for a stop string that did not come. */
  rest(): Part | undefined {
    return this.#textPart(this.#stops?.end() ?? '')
  }

  #part(step: Step): Part | undefined {
    if (step.kind === 'text') return this.#text(step.shown, step.token)
    if (step.kind === 'reasoning') {
      this.reasoningTokens++
      return { type: 'reasoning', text: step.shown }
    }
    const { index } = step
    if (step.kind === 'call-arguments') return { type: 'tool-call-arguments', index, text: step.text }
    this.#calls++
    return { type: 'tool-call', index, id: step.id ?? createId('call_'), name: step.name }
  }

  #text(shown: string, token: ScriptToken): Part | undefined {
    const { topLogprobs } = this.#task
    if (topLogprobs !== undefined) this.#heldLogprobs.push(tokenLogprob(token, topLogprobs))
    if (this.#stops === undefined) return this.#textPart(shown)
    const text = this.#stops.write(shown)
    if (this.#stops.matched !== undefined) this.#finish = 'stop-sequence'
    return this.#textPart(text)
  }

  #textPart(text: string): Part | undefined {
    if (text === '') return undefined
    this.#textSaid += text
    if (this.#task.topLogprobs === undefined) return { type: 'text', text }
    const logprobs = this.#heldLogprobs
    this.#heldLogprobs = []
    return { type: 'text', text, logprobs }
  }
}

type Finish = FinishReason | undefined
