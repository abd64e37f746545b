import type { RunInfo } from '../../runs/run.ts'
import type { Result } from '../../tasks/part.ts'
import { DONE, eventData } from './event-data.ts'
import { envelopeJson, originJson, timingsJson, usageJson, type AnswerEnvelope } from './usage.ts'
import { UsageSum } from './usage-sum.ts'

/** How an answer is shaped, beside its text. */
export interface AnswerShape {
  includeUsage: boolean
  /** Choices for each prompt. */
  choices: number
}

/** What streams of chunks share: the text around each choice, made once, and the end (BR-01). */
export class StreamFrame {
  readonly #includeUsage: boolean
  readonly #head: string
  readonly #open: string
  readonly #usage: UsageSum
  #info: RunInfo | undefined
  #headersWentEarly = false

  /** @param kind of each chunk's object */
  constructor(envelope: AnswerEnvelope, kind: string, { includeUsage, choices }: AnswerShape) {
    this.#includeUsage = includeUsage
    this.#usage = new UsageSum(choices)
    this.#head = envelopeJson(envelope, kind)
    // With usage asked for, all chunks but the last carry a null one (API reference).
    this.#open = includeUsage ? ',"usage":null' : ''
  }

  headersWentEarly(): void {
    this.#headersWentEarly = true
  }

  /** @param choice JSON */
  chunk(choice: string): string {
    return `data: ${this.#head},"choices":[${choice}]${this.#open}}\n\n`
  }

  /** The chunk that ends a choice. */
  lastChunk(choice: string, result: Result, task: number, info: RunInfo): string {
    this.#usage.add(result.usage, task)
    this.#info = info
    return eventData(
      `${this.#head},"choices":[${choice}]${this.#open},"timings":${timingsJson(result, info)}}`,
    )
  }

  /** The usage, where it is asked for: exactly one chunk, after the last choice, without choices. Then the terminator. */
  end(): string {
    if (!this.#includeUsage) return DONE
    const origin = this.#headersWentEarly && this.#info !== undefined ? originJson(this.#info) : ''
    return eventData(`${this.#head},"choices":[],"usage":${usageJson(this.#usage.total, origin)}}`) + DONE
  }
}
