import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { FinishReason, Part, Result } from '../../tasks/part.ts'
import { AnswerReader } from '../llama-cpp/answer-reader.ts'
import { requireRoom } from '../task-checks.ts'
import { FormKeeper } from './form-keeper.ts'
import { MlxAnswer } from './mlx-answer.ts'
import type { MlxHost } from './mlx-host.ts'
import { mlxPromptOf, type MlxPrompt } from './mlx-prompt.ts'
import { mlxSampling } from './mlx-request.ts'

export type TextTask = ChatTask | CompletionTask

type Ending = Exclude<FinishReason, 'abort' | 'timeout'>

/** Runs a task: templates, stop strings, calls, reasoning, forms and limits are ours; the worker takes tokens and gives tokens. */
export async function* runMlx(
  task: TextTask,
  { keptPrefix, signal }: { keptPrefix: number; signal: AbortSignal },
  host: MlxHost,
): AsyncGenerator<Part, Result, void> {
  const prompt = await mlxPromptOf(task, host, signal)
  requireRoom(prompt.tokens.length, host.plan.contextSize)
  host.vocabulary.requireTokens(Object.keys(task.sampling.logitBias ?? {}).map(Number), 'logit_bias')
  return yield* new MlxRun(task, prompt, { reuse: keptPrefix > 0, signal }, host).perform()
}

class MlxRun {
  readonly #host: MlxHost
  readonly #prompt: MlxPrompt
  readonly #reader: AnswerReader
  readonly #answer: MlxAnswer
  readonly #keeper: FormKeeper | undefined
  readonly #reasoning: { begin: string; end: string; budget: number }
  readonly #begunAt: number
  #answeringSince: number | undefined
  #isBegun = false

  constructor(
    task: TextTask,
    prompt: MlxPrompt,
    { reuse, signal }: { reuse: boolean; signal: AbortSignal },
    host: MlxHost,
  ) {
    const { plan, vocabulary, template } = host
    const { tokens, pictures, stops, parser, format } = prompt
    this.#host = host
    this.#prompt = prompt
    this.#begunAt = host.clock.now()
    const { enabled, budget = Infinity } = (task.kind === 'chat' ? task.reasoning : undefined) ?? {}
    const { begin = '', end = '' } = template.reasoning ?? {}
    // A form would keep a model from beginning to think.
    const begins = enabled === true && budget > 0 && format !== undefined && parser?.inReasoning === false
    this.#reasoning = { begin: begins ? begin : '', end: end === '' ? '' : `\n${end}\n\n`, budget }
    this.#keeper = format === undefined ? undefined : new FormKeeper(format, vocabulary.endIds)
    this.#reader = new AnswerReader({
      stops: [...task.stop, ...stops],
      ...(parser !== undefined && { parser }),
      hidesReasoning: enabled === false,
    })
    const room = plan.contextSize - tokens.length
    this.#answer = new MlxAnswer({
      host,
      prompt: tokens,
      pictures,
      sampling: mlxSampling(task, plan.spec.defaults),
      reader: this.#reader,
      shows: (text) => parser?.shows(text) === true,
      alternatives: task.topLogprobs,
      room: Math.min(task.maxTokens ?? plan.spec.defaults.maxTokens ?? room, room),
      reuse,
      continues: task.kind === 'completion' || task.messages.at(-1)?.role === 'assistant',
      signal,
    })
  }

  async *perform(): AsyncGenerator<Part, Result, void> {
    const ending = yield* this.#begun(this.#write())
    return this.#result(ending === 'stop' && this.#reader.calls > 0 ? 'tool-calls' : ending)
  }

  /** `started` comes before the first part, when it is known how much of the prompt was there. */
  async *#begun(parts: AsyncGenerator<Part, Ending, void>): AsyncGenerator<Part, Ending, void> {
    for (;;) {
      const step = await parts.next()
      if (this.#answeringSince === undefined) yield* this.#start()
      if (step.done === true) return step.value
      yield step.value
    }
  }

  *#start(): Generator<Part, void, void> {
    this.#answeringSince = this.#host.clock.now()
    const { tokens, echo } = this.#prompt
    yield { type: 'started', promptTokens: tokens.length, cachedTokens: this.#answer.cachedTokens ?? 0 }
    if (echo !== undefined && echo !== '') yield { type: 'text', text: echo }
  }

  async *#write(): AsyncGenerator<Part, Ending, void> {
    const { begin } = this.#reasoning
    if (begin !== '') yield* await this.#answer.say(begin)
    const ending = yield* this.#stretches()
    yield* this.#reader.end()
    return ending
  }

  async *#stretches(): AsyncGenerator<Part, Ending, void> {
    for (;;) {
      yield* await this.#beginForm()
      const keeper = this.#reader.inReasoning ? undefined : this.#keeper
      const end = yield* this.#answer.stretch(keeper, () => this.#changes)
      if (end === 'again') continue
      const thinks = this.#reader.inReasoning && this.#reasoning.end !== ''
      if (end === 'changed' || (end === 'stop' && this.#keeper !== undefined && thinks)) {
        if (thinks) yield* await this.#answer.say(this.#reasoning.end)
      } else return end
    }
  }

  /** What has to come before anything but reasoning. */
  async #beginForm(): Promise<Part[]> {
    const { prefix = '' } = this.#prompt
    if (this.#isBegun || this.#reader.inReasoning) return []
    this.#isBegun = true
    return prefix === '' ? [] : await this.#answer.say(prefix)
  }

  /** It has thought enough, or has done thinking and something else holds from here on. */
  get #changes(): boolean {
    const { end, budget } = this.#reasoning
    if (this.#reader.inReasoning) return end !== '' && this.#reader.reasoningTokens >= budget
    return !this.#isBegun && (this.#keeper !== undefined || (this.#prompt.prefix ?? '') !== '')
  }

  #result(finishReason: Ending): Result {
    const { stoppedBy, reasoningTokens } = this.#reader
    const { madeTokens, cachedTokens = 0 } = this.#answer
    const now = this.#host.clock.now()
    const since = this.#answeringSince ?? now
    return {
      finishReason,
      ...(stoppedBy !== undefined && { stopSequence: stoppedBy }),
      usage: {
        promptTokens: this.#prompt.tokens.length,
        cachedTokens,
        completionTokens: madeTokens,
        reasoningTokens: Math.min(reasoningTokens, madeTokens),
      },
      timings: { prefill: since - this.#begunAt, decode: now - since },
    }
  }
}
