import { ModelyardError, toModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { FinishReason, Part, PartStream, PromptLogprob, Result, TokenLogprob } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan, RunOptions } from '../engine.ts'
import { AnswerGrammar, GrammarShelf } from './answer-grammar.ts'
import { AnswerCourse } from './answer-course.ts'
import { AnswerText } from './answer-text.ts'
import type { LlamaGrammarState, LlamaModel, LlamaModule, LlamaStep, LlamaSteps } from './llama-module.ts'
import { tokenLogprob } from './log-probability.ts'
import { promptOf, type Prompt, type PromptMaker } from './prompt.ts'
import type { ModelLifetime } from '../in-process/model-lifetime.ts'
import { PartChannel } from '../in-process/part-channel.ts'
import { resolveSampling } from '../llama-cpp/resolve-sampling.ts'
import { requireRoom } from '../task-checks.ts'
import { readPrompt, shownEntries } from './read-prompt.ts'
import { evaluateOptions } from './sampling-options.ts'
import type { Slot } from './slot.ts'
import { tokenBiasOf } from './token-bias.ts'
import { WeightedChoice } from './weighted-choice.ts'

type TextTask = ChatTask | CompletionTask

/** What a run needs of the model it runs on. */
export interface TextHost extends PromptMaker {
  module: LlamaModule
  model: LlamaModel
  lifetime: ModelLifetime
  grammars: GrammarShelf
}

/** Runs a task on a slot. All that could refuse it is checked, with the first reading, before the slot is touched. */
export function runText(task: Task, options: RunOptions, slot: Slot, host: TextHost): PartStream {
  return new PartChannel(options.signal, (channel) => {
    host.lifetime.check()
    const run = new TextRun(requireText(task, host.plan), options, slot, host)
    host.lifetime.begin(channel)
    // Not awaited: after an abort the slot has a native step to finish, and its next work waits for that.
    void slot.work.add(async () => run.perform(channel))
  })
}

/** @throws unsupported for a kind of task that gives no text */
export function requireText(task: Task, { model }: LoadPlan): TextTask {
  if (task.kind === 'chat' || task.kind === 'completion') return task
  throw new ModelyardError('unsupported', `Model "${model}" writes text; it cannot do ${task.kind} tasks.`, {
    details: { param: 'model', task: task.kind },
  })
}

class TextRun {
  readonly #task: TextTask
  readonly #options: RunOptions
  readonly #slot: Slot
  readonly #host: TextHost
  readonly #prompt: Prompt
  readonly #maxTokens: number
  readonly #evaluate: ReturnType<typeof evaluateOptions>
  readonly #choice: WeightedChoice | undefined
  readonly #grammar: AnswerGrammar | undefined
  readonly #answer: number[] = []
  readonly #text: AnswerText
  readonly #course: AnswerCourse
  #promptLogprobs: PromptLogprob[] | undefined
  #cached = 0
  #begun = 0
  #answering = 0

  constructor(task: TextTask, options: RunOptions, slot: Slot, host: TextHost) {
    const { plan, model, module, vocabulary } = host
    this.#task = task
    this.#options = options
    this.#slot = slot
    this.#host = host
    this.#prompt = promptOf(task, host)
    const { tokens, stops, parser } = this.#prompt
    requireRoom(tokens.length, plan.contextSize)
    const room = plan.contextSize - tokens.length
    this.#maxTokens = Math.min(task.maxTokens ?? plan.spec.defaults.maxTokens ?? room, room)
    const sampling = resolveSampling(task.sampling, plan.spec.defaults)
    const format = this.#prompt.format
    this.#grammar = format === undefined ? undefined : host.grammars.begin(format)
    // Control tokens add nothing to the answer, but the engine would take their names for text of the grammar; marks are meant.
    const forbidden =
      this.#grammar === undefined
        ? []
        : vocabulary.silentTokens.filter(
            (token) => parser?.shows(vocabulary.controlTextOf(token) ?? '') !== true,
          )
    const bias = tokenBiasOf({ logitBias: task.sampling.logitBias, forbidden }, module, model, vocabulary)
    const penalized = { prompt: tokens, answer: this.#answer, contextSize: plan.contextSize }
    this.#evaluate = evaluateOptions(sampling, penalized, bias)
    this.#choice = task.topLogprobs === undefined ? undefined : new WeightedChoice(sampling)
    this.#text = new AnswerText({
      vocabulary,
      stops: [...task.stop, ...stops],
      ...(parser !== undefined && { parser }),
      hidesReasoning: task.kind === 'chat' && task.reasoning?.enabled === false,
    })
    this.#course = courseOf(task, this.#prompt, this.#text, host)
  }

  /** Never rejects: whatever happens reaches the reader through the channel. */
  async perform(channel: PartChannel): Promise<void> {
    try {
      if (!channel.closed) channel.end(await this.#answerOn(channel))
    } catch (error) {
      this.#slot.markBroken()
      channel.fail(engineFailure(error))
    } finally {
      this.#host.lifetime.finish(channel)
    }
  }

  async #answerOn(channel: PartChannel): Promise<Result> {
    const { clock } = this.#host.lifetime
    this.#begun = clock.now()
    const { keptPrefix } = this.#options
    this.#cached = await this.#slot.keep(this.#prompt.tokens, this.#readsPrompt ? 0 : keptPrefix)
    if (this.#readsPrompt) await this.#readPrompt(channel)
    if (this.#maxTokens === 0 && this.#readsPrompt) return await this.#endUnanswered(channel)
    const stopped = (): boolean => channel.closed
    const rest = await this.#slot.prefill(this.#prompt.tokens, stopped, () => this.#host.lifetime.moved())
    if (channel.closed) return this.#result('abort')
    if (this.#maxTokens > 0) return this.#result(await this.#generate(rest, channel))
    // The slot holds what was asked, as with an answer: others go on from it, and its speed is a speed.
    await this.#slot.finishPrefill(rest)
    return await this.#endUnanswered(channel)
  }

  async #endUnanswered(channel: PartChannel): Promise<Result> {
    await this.#start(channel)
    return this.#result('length')
  }

  get #readsPrompt(): boolean {
    return this.#prompt.echo !== undefined && this.#task.topLogprobs !== undefined
  }

  /** For what is said of a prompt that is sent back, each of its tokens is evaluated by itself. */
  async #readPrompt(channel: PartChannel): Promise<void> {
    const { vocabulary, lifetime } = this.#host
    const { tokens, echo = '' } = this.#prompt
    const entries = await readPrompt(this.#slot, {
      tokens,
      alternatives: this.#task.topLogprobs ?? 0,
      vocabulary,
      stopped: () => channel.closed,
      moved: () => lifetime.moved(),
    })
    this.#promptLogprobs = shownEntries(entries, tokens, echo, vocabulary)
  }

  async #start(channel: PartChannel): Promise<void> {
    this.#answering = this.#host.lifetime.clock.now()
    const promptTokens = this.#prompt.tokens.length
    await channel.put({ type: 'started', promptTokens, cachedTokens: this.#cached })
    const { echo } = this.#prompt
    if (echo === undefined || echo === '') return
    const promptLogprobs = this.#promptLogprobs
    await channel.put({ type: 'text', text: echo, ...(promptLogprobs !== undefined && { promptLogprobs }) })
  }

  async #generate(rest: readonly number[], channel: PartChannel): Promise<FinishReason> {
    const sequence = this.#slot.sequence
    const steps = this.#steps(rest)
    try {
      if (this.#slot.turn !== undefined) await this.#slot.turn
      let step = await steps.next()
      if (sequence.needsCheckpoints) await this.#slot.alone(() => sequence.takeCheckpoint())
      this.#slot.isAnswering = true
      await this.#start(channel)
      while (step.done !== true && !channel.closed) {
        const isFree = this.#course.isFree
        const token = this.#next(step.value)
        if (token === undefined) break
        if (isFree) this.#follow(token)
        const paused = this.#add(token, step.value, channel)
        if (paused !== undefined) await paused
        if (this.#text.stoppedBy !== undefined) return 'stop-sequence'
        if (this.#text.isDone || this.#grammar?.isComplete === true) break
        this.#course.advance()
        if (this.#answer.length >= this.#maxTokens) return await this.#finish('length', channel)
        if (this.#slot.turn !== undefined) await this.#slot.turn
        step = await steps.next(token)
      }
      return await this.#finish('stop', channel)
    } finally {
      this.#slot.isAnswering = false
      await steps.return()
    }
  }

  /** With log-probabilities the engine tells the whole distribution, which it has only when it is greedy; then the choice is ours. */
  #steps(rest: readonly number[]): LlamaSteps {
    const { sequence } = this.#slot
    const grammar = this.#grammar
    const held = grammar !== undefined && {
      grammarEvaluationState: () => (this.#course.isFree ? this.#stateOf(grammar) : undefined),
    }
    // What is due must come also where the model would end.
    const options = { ...this.#evaluate, ...held, yieldEogToken: true }
    if (this.#choice === undefined) return sequence.evaluateWithMetadata(rest, {}, options)
    return sequence.evaluateWithMetadata(rest, { probabilities: true }, { ...options, temperature: 0 })
  }

  /** The engine moves its state on by itself where the choice was its own. */
  #follow(token: number): void {
    if (this.#choice !== undefined) this.#grammar?.accept(token)
    this.#grammar?.follow(this.#host.vocabulary.bytesOf(token))
  }

  #stateOf(grammar: AnswerGrammar): LlamaGrammarState {
    return this.#choice === undefined ? grammar.state : grammar.copy
  }

  /** What is due, else what is chosen; undefined = the turn ends. */
  #next(step: LlamaStep): number | undefined {
    const due = this.#course.take()
    if (due !== undefined) return due
    const token = this.#chosen(step)
    if (!this.#host.model.isEogToken(token)) return token
    return this.#course.refusesEnd(this.#grammar !== undefined) ? this.#course.take() : undefined
  }

  #chosen({ token, probabilities }: LlamaStep): number {
    return this.#choice === undefined || probabilities === undefined
      ? token
      : this.#choice.pick(probabilities)
  }

  #add(token: number, step: LlamaStep, channel: PartChannel): Promise<void> | undefined {
    this.#host.lifetime.moved()
    this.#answer.push(token)
    const parts = this.#text.add(token, this.#logprob(token, step))
    return putAll(parts, channel)
  }

  #logprob(token: number, { probabilities }: LlamaStep): TokenLogprob | undefined {
    const { topLogprobs } = this.#task
    if (topLogprobs === undefined || probabilities === undefined) return undefined
    return tokenLogprob(token, probabilities, topLogprobs, this.#host.vocabulary)
  }

  /** Shows what was held back. */
  async #finish(reason: FinishReason, channel: PartChannel): Promise<FinishReason> {
    await putAll(this.#text.end(), channel)
    return reason === 'stop' && this.#text.calls > 0 ? 'tool-calls' : reason
  }

  #result(finishReason: FinishReason): Result {
    const { clock } = this.#host.lifetime
    const stopSequence = this.#text.stoppedBy
    return {
      finishReason,
      ...(stopSequence !== undefined && { stopSequence }),
      usage: {
        promptTokens: this.#prompt.tokens.length,
        cachedTokens: this.#cached,
        completionTokens: this.#answer.length,
        reasoningTokens: this.#text.reasoningTokens,
      },
      timings: { prefill: this.#answering - this.#begun, decode: clock.now() - this.#answering },
    }
  }
}

function courseOf(
  task: TextTask,
  { prefix = '', format, parser }: Prompt,
  text: AnswerText,
  { template, vocabulary }: TextHost,
): AnswerCourse {
  const { enabled, budget = Infinity } = (task.kind === 'chat' ? task.reasoning : undefined) ?? {}
  const { begin = '', end = '' } = template.reasoning ?? {}
  // A grammar would keep a model from beginning to think.
  const begins = enabled === true && budget > 0 && format !== undefined && parser?.inReasoning === false
  return new AnswerCourse({
    text,
    reasoningBegin: begins && begin !== '' ? vocabulary.tokenizeMark(begin) : [],
    reasoningEnd: end === '' ? [] : vocabulary.tokenizeMark(`\n${end}\n\n`),
    reasoningBudget: budget,
    prefix: prefix === '' ? [] : vocabulary.tokenizeMark(prefix),
  })
}

/** Once the channel is full it stays so, and the last part tells until when. */
function putAll(parts: readonly Part[], channel: PartChannel): Promise<void> | undefined {
  let waiting: Promise<void> | undefined
  for (const part of parts) waiting = channel.put(part)
  return waiting
}

function engineFailure(error: unknown): ModelyardError {
  const { code, message, details } = toModelyardError(error, 'engine_failed')
  if (code !== 'engine_failed') return error as ModelyardError
  return new ModelyardError('engine_failed', `The engine failed: ${message}`, { details, cause: error })
}
