import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { FinishReason, Part, Result } from '../../tasks/part.ts'
import { requireRoom } from '../task-checks.ts'
import { planAnswer, type AnswerPlan } from './answer-plan.ts'
import { AnswerStream, type StreamEnd } from './answer-stream.ts'
import { samplingFields } from './completion-body.ts'
import { promptOf, type Prompt } from './prompt.ts'
import type { TextHost } from './text-host.ts'

export type TextTask = ChatTask | CompletionTask

export interface TextRunOptions {
  slot: number
  keptPrefix: number
  signal: AbortSignal
}

/** How an answer ends, as the engine says it or as we decided. */
type Ending = Exclude<FinishReason, 'abort' | 'timeout'>

/** Runs a task on a slot. The generator's end means that nothing of it is on its way any more, but that the server hears of it only now. */
export async function* runText(
  task: TextTask,
  options: TextRunOptions,
  host: TextHost,
): AsyncGenerator<Part, Result, void> {
  const prompt = await promptOf(task, host)
  return yield* new TextRun(task, prompt, options, host).perform()
}

/**
 * One answer. Usually it is one request to the server. Where a grammar holds for what comes after the model has thought, or thinking has a
 * budget, the answer is made in stretches: each goes on from what is there, which costs the evaluation of one token.
 */
class TextRun {
  readonly #host: TextHost
  readonly #plan: AnswerPlan
  readonly #stream: AnswerStream
  readonly #begunAt: number
  #isBegun = false

  constructor(task: TextTask, prompt: Prompt, { slot, keptPrefix, signal }: TextRunOptions, host: TextHost) {
    this.#host = host
    this.#plan = planAnswer(task, prompt, host)
    this.#begunAt = host.clock.now()
    this.#stream = new AnswerStream({
      host,
      prompt,
      answer: this.#plan,
      fields: samplingFields(task, host.plan, host.vocabulary),
      alternatives: task.topLogprobs ?? 0,
      maxTokens: task.maxTokens ?? host.plan.spec.defaults.maxTokens,
      slot,
      keptPrefix,
      signal,
      requireRoom: (promptTokens) => requireRoom(promptTokens, host.plan.contextSize),
      ...(prompt.echo !== undefined && { echo: prompt.echo }),
    })
  }

  async *perform(): AsyncGenerator<Part, Result, void> {
    const { reasoningBegin } = this.#plan
    if (reasoningBegin !== '') await this.#stream.say(reasoningBegin)
    const ending = yield* this.#answer()
    yield* this.#plan.reader.end()
    return this.#result(ending === 'stop' && this.#plan.reader.calls > 0 ? 'tool-calls' : ending)
  }

  async *#answer(): AsyncGenerator<Part, Ending, void> {
    for (;;) {
      await this.#beginForm()
      const end = yield* this.#stream.stretch({ isChecked: this.#isHeld, until: () => this.#changes })
      if (end === 'changed' || this.#refusesEnd(end)) {
        if (this.#plan.reader.inReasoning) {
          await this.#stream.say(this.#plan.reasoningEnd, this.#plan.reasoningEnd.trimEnd())
        }
      } else return end
    }
  }

  /** What has to come before anything but reasoning is said as soon as the model does not think. */
  async #beginForm(): Promise<void> {
    const { reader, prefix } = this.#plan
    if (this.#isBegun || reader.inReasoning) return
    this.#isBegun = true
    if (prefix !== '') await this.#stream.say(prefix)
  }

  /** A grammar holds where the model does not think. */
  get #isHeld(): boolean {
    return this.#isBegun && !this.#plan.reader.inReasoning
  }

  /** It has thought enough, or it has done thinking and something else holds from here on. */
  get #changes(): boolean {
    const { reader, check, prefix, reasoningBudget, reasoningEnd } = this.#plan
    if (reader.inReasoning) return reasoningEnd !== '' && reader.reasoningTokens >= reasoningBudget
    return !this.#isBegun && (check !== undefined || prefix !== '')
  }

  /** The model would end while it thinks, and has to answer first. */
  #refusesEnd(end: StreamEnd): boolean {
    const { reader, check, reasoningEnd } = this.#plan
    return end === 'stop' && check !== undefined && reader.inReasoning && reasoningEnd !== ''
  }

  #result(finishReason: Ending): Result {
    const { reader } = this.#plan
    const { promptTokens, cachedTokens, madeTokens, answeringSince } = this.#stream
    const now = this.#host.clock.now()
    const since = answeringSince ?? now
    this.#host.evaluated(promptTokens - cachedTokens, since - this.#begunAt)
    return {
      finishReason,
      ...(reader.stoppedBy !== undefined && { stopSequence: reader.stoppedBy }),
      usage: {
        promptTokens,
        cachedTokens,
        completionTokens: madeTokens,
        reasoningTokens: Math.min(reader.reasoningTokens, madeTokens),
      },
      timings: { prefill: since - this.#begunAt, decode: now - since },
    }
  }
}
