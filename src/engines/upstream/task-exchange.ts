import { ModelyardError } from '../../base/errors.ts'
import type { EndpointAbility } from '../../models/model-facts.ts'
import { writesText, type Task } from '../../tasks/task.ts'
import type { LoadPlan, RunOptions } from '../engine.ts'
import type { AnswerReader, IncomingAnswer } from './answer-reader.ts'
import type { Reply } from './connection.ts'
import type { EndpointPool, EndpointRequest, Opening } from './endpoint-pool.ts'
import { marksContinuation, ranksRaw } from './known-servers.ts'
import { learnFromRefusal } from './learn-from-refusal.ts'
import { readerOf } from './reader-of.ts'
import { isOtherTask, refusesForm, taskRequest } from './task-request.ts'
import { interrupted, lacksAbility, type Silence } from './upstream-error.ts'
import type { UpstreamOptions } from './upstream-options.ts'
import { wireRequest, type WireRequest } from './wire-request.ts'

/** Milliseconds; ten minutes are what the vendors' SDKs wait. */
const DEFAULT_WHOLE_ANSWER_TIMEOUT = 600_000

export interface ExchangeParts {
  options: UpstreamOptions
  endpoints: EndpointPool
  /** Told what the endpoint turned out not to have. */
  learn: (ability: EndpointAbility) => void
  /** What the server calls itself in its list of models. */
  server?: string
}

/** How the tasks of one model are put to its endpoints, and what is made of answers and refusals. */
export class TaskExchange {
  readonly #plan: LoadPlan
  readonly #parts: ExchangeParts
  /** Kinds of tasks whose usual form of answer the endpoint refused. */
  readonly #plain = new Set<Task['kind']>()

  constructor(plan: LoadPlan, parts: ExchangeParts) {
    this.#plan = plan
    this.#parts = parts
  }

  /** Where nothing is read before the end, one piece costs both sides far less than hundreds. */
  asksWhole(task: Task, { isWhole = false }: RunOptions): boolean {
    return isWhole && writesText(task) && this.#parts.options.wholeAnswerTimeout !== 0
  }

  /** The beginning of an answer. @throws what {@link judged} makes an error of */
  async open(task: Task, isWhole: boolean, opening: Opening): Promise<Reply> {
    // Others may find out the same at the same time.
    const isPlain = this.#plain.has(task.kind)
    try {
      return await this.#send(task, isWhole, opening)
    } catch (error) {
      const reason = error instanceof ModelyardError ? error.details['reason'] : undefined
      if (isPlain || !refusesForm(task, reason)) throw error
      this.#plain.add(task.kind)
      return await this.#send(task, isWhole, opening)
    }
  }

  /** Who takes in an answer that has begun. */
  readerOf(
    task: Task,
    { body, contentType }: Reply,
    taken: Pick<IncomingAnswer, 'parts' | 'clock' | 'onMoved'>,
    isWhole: boolean,
  ): AnswerReader {
    const incoming = { model: this.#plan.model, body, ...taken }
    return readerOf(task, incoming, { contentType, isWhole, ranksRaw: ranksRaw(this.#parts.server) })
  }

  /** A refusal of what the endpoint never does is remembered, so that the next such request is refused before anything is sent. */
  judged(task: Task, isWhole: boolean, thrown: unknown): unknown {
    const { model } = this.#plan
    const error = this.#parts.endpoints.concealed(thrown)
    if (!(error instanceof ModelyardError)) return interrupted(model, this.#silenceOf(task, isWhole), error)
    const ability = learnFromRefusal(task, error)
    if (ability === undefined) return error
    this.#parts.learn(ability)
    return lacksAbility(model, ability.name, error)
  }

  /** Of a task of text or vectors. */
  textRequest(task: Task, isWhole = false): WireRequest {
    const { spec } = this.#plan
    return wireRequest(task, {
      remoteModel: this.#remoteModel,
      defaults: spec.defaults,
      ...(spec.system !== undefined && { system: spec.system }),
      marksContinuation: marksContinuation(this.#parts.server),
      isWhole,
    })
  }

  get #remoteModel(): string {
    return this.#parts.options.remoteModel ?? this.#plan.model
  }

  #send(task: Task, isWhole: boolean, { slot, signal }: Opening): Promise<Reply> {
    const request = this.#request(task, isWhole)
    request.silence = this.#silenceOf(task, isWhole)
    const isFinal = (refusal: ModelyardError): boolean => learnFromRefusal(task, refusal) !== undefined
    return this.#parts.endpoints.open(request, { slot, signal, isFinal })
  }

  #request(task: Task, isWhole: boolean): EndpointRequest {
    if (!isOtherTask(task)) return this.textRequest(task, isWhole)
    return taskRequest(task, {
      remoteModel: this.#remoteModel,
      defaults: this.#plan.spec.defaults,
      isPlain: this.#plain.has(task.kind),
    })
  }

  /** Of what comes in one piece nothing is heard before it is done. */
  #silenceOf({ kind }: Task, isWhole: boolean): Silence {
    const { options, endpoints } = this.#parts
    const { wholeAnswerTimeout: milliseconds = DEFAULT_WHOLE_ANSWER_TIMEOUT } = options
    const isDocument = isWhole || kind === 'image' || kind === 'transcription'
    if (!isDocument || milliseconds === 0) return endpoints.silence
    return { milliseconds, option: 'wholeAnswerTimeout' }
  }
}
