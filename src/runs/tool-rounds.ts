import { abortError, onAbort } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { formatDuration } from '../base/durations.ts'
import { ModelyardError } from '../base/errors.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { Message } from '../tasks/message.ts'
import type { PartStream, Result } from '../tasks/part.ts'
import { AnswerCollector } from './answer-collector.ts'
import { callTools } from './call-tools.ts'
import type { Run, RunInfo, RunRequest } from './run.ts'
import { addResults } from './sum-results.ts'
import type { HandledTool } from './tool-handler.ts'

/** Rounds of calls and results before the calls are returned instead. */
const DEFAULT_ROUNDS = 8

export interface ToolRoundsOptions {
  request: RunRequest & { task: ChatTask }
  tools: readonly HandledTool[]
  /** Default 8; 0 = no handler is called. */
  maxRounds?: number
  startRun: (request: RunRequest) => Run
  clock: Clock
}

/**
 * A chat whose tools have handlers (E3): the model's calls are made and their results told, until it answers without calls, calls a tool that
 * has no handler, or the rounds are used up; then the result says `tool-calls`. Nothing of a model is held while handlers work. Each round
 * is a run of its own and begins with a `started` part.
 */
export class ToolRounds implements Run {
  readonly #options: ToolRoundsOptions
  readonly #controller = new AbortController()
  readonly #said: Message[] = []
  readonly parts: PartStream
  #info: RunInfo

  constructor(options: ToolRoundsOptions) {
    this.#options = options
    const { model } = options.request
    this.#info = { id: '', model, queueMs: 0, loadMs: 0, promptTokens: 0, cachedTokens: 0 }
    this.parts = this.#rounds()
  }

  /** Of the round under way. */
  get info(): RunInfo {
    return this.#info
  }

  /** Calls and results of the rounds that are over. */
  get said(): readonly Message[] {
    return this.#said
  }

  async *#rounds(): PartStream {
    const release = this.#listen()
    const { maxRounds = DEFAULT_ROUNDS } = this.#options
    try {
      let total: Result | undefined
      for (let round = 0; ; round++) {
        const answer = new AnswerCollector()
        const result = yield* this.#round(round, answer)
        total = total === undefined ? result : addResults(total, result)
        const message = answer.message()
        const results = round < maxRounds ? await this.#resultsOf(result, message) : undefined
        if (results === undefined) return total
        this.#said.push(message, ...results)
      }
    } finally {
      this.#controller.abort()
      release()
    }
  }

  /** What ends all of it: the caller's signal, and its time, which the handlers' time is part of. */
  #listen(): () => void {
    const { request, clock } = this.#options
    const { signal, timeout } = request
    const unlisten = onAbort(signal, () => this.#controller.abort(abortError(signal)))
    if (timeout === undefined) return unlisten
    const timer = clock.setTimer(timeout, () => {
      const message = `The run did not end within ${formatDuration(timeout)}.`
      this.#controller.abort(new ModelyardError('timeout', message))
    })
    return () => {
      timer.cancel()
      unlisten()
    }
  }

  async *#round(round: number, answer: AnswerCollector): PartStream {
    const run = this.#options.startRun(this.#requestOf(round))
    this.#info = run.info
    try {
      for (;;) {
        const next = await run.parts.next()
        if (next.done === true) return next.value
        answer.add(next.value)
        yield next.value
      }
    } finally {
      this.#info = run.info
      await run.parts.return(undefined as never)
    }
  }

  /** A tool that must be called has been called after the first round. */
  #requestOf(round: number): RunRequest {
    const { timeout: _, task, ...rest } = this.#options.request
    const { toolChoice, ...asked } = task
    const choice = round === 0 && toolChoice !== undefined ? { toolChoice } : {}
    const messages = [...task.messages, ...this.#said]
    return { ...rest, signal: this.#controller.signal, task: { ...asked, ...choice, messages } }
  }

  async #resultsOf(
    { finishReason }: Result,
    { toolCalls = [] }: Message & { role: 'assistant' },
  ): Promise<Message[] | undefined> {
    const { tools } = this.#options
    if (finishReason !== 'tool-calls' || toolCalls.length === 0) return undefined
    const isOurs = ({ name }: { name: string }): boolean =>
      tools.find((tool) => tool.name === name)?.handler !== undefined
    const isForeign = toolCalls.some((call) => !isOurs(call) && tools.some(({ name }) => name === call.name))
    return isForeign ? undefined : callTools(toolCalls, tools, this.#controller.signal)
  }
}
