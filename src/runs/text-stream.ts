import { ModelyardError } from '../base/errors.ts'
import { closeStream, type Part, type Result } from '../tasks/part.ts'
import { NO_USAGE } from '../tasks/usage.ts'
import { AnswerCollector } from './answer-collector.ts'
import type { Message } from '../tasks/message.ts'
import type { Run, RunInfo } from './run.ts'

/** A whole answer: what {@link TextStream.answer} resolves to. */
export interface Answer {
  text: string
  message: Message & { role: 'assistant' }
  /** What was added to the conversation: with tools that have handlers their calls and results, and `message` as the last. */
  messages: Message[]
  result: Result
}

/**
 * What library calls that generate text return: iterate it for the parts, or await one of its methods for the whole. Either way it can be
 * consumed once. When the caller's signal fires or the run's time is up it ends with what was produced and `finishReason` `abort` or
 * `timeout` (P13); every other failure is thrown as a ModelyardError.
 */
export class TextStream implements AsyncIterable<Part> {
  readonly #run: Run
  /** Of the round under way. */
  #answer = new AnswerCollector()
  #result: Result | undefined

  constructor(run: Run) {
    this.#run = run
  }

  /** Model, instance, waits and placement; complete once the first part has come. */
  get info(): RunInfo {
    return this.#run.info
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Part, void, void> {
    try {
      for (;;) {
        const next = await this.#run.parts.next()
        if (next.done === true) {
          this.#result = next.value
          return
        }
        if (next.value.type === 'started') this.#answer = new AnswerCollector()
        this.#answer.add(next.value)
        yield next.value
      }
    } catch (thrown) {
      this.#result = this.#endedEarly(thrown)
    } finally {
      if (this.#result === undefined) await closeStream(this.#run.parts)
    }
  }

  /** The text alone, piece by piece. */
  async *textParts(): AsyncGenerator<string, void, void> {
    for await (const part of this) if (part.type === 'text') yield part.text
  }

  async text(): Promise<string> {
    return (await this.answer()).text
  }

  async answer(): Promise<Answer> {
    for await (const part of this) void part
    if (this.#result === undefined)
      throw new ModelyardError('invalid_request', 'This stream was read already; call once.')
    const message = this.#answer.message()
    const messages = [...(this.#run.said ?? []), message]
    return { text: this.#answer.text, message, messages, result: this.#result }
  }

  /** How it ended; known when the last part has been read. */
  get result(): Result | undefined {
    return this.#result
  }

  #endedEarly(thrown: unknown): Result {
    if (thrown instanceof ModelyardError && thrown.code === 'aborted') return this.#cut('abort')
    if (thrown instanceof ModelyardError && thrown.code === 'timeout') return this.#cut('timeout')
    throw thrown
  }

  #cut(finishReason: 'abort' | 'timeout'): Result {
    const { promptTokens, cachedTokens } = this.#run.info
    return {
      finishReason,
      usage: { ...NO_USAGE, promptTokens, cachedTokens, completionTokens: this.#answer.pieces },
      timings: { prefill: 0, decode: 0 },
    }
  }
}
