import type { RunInfo } from '../../runs/run.ts'
import type { Part, PromptLogprob, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { completionLogprobs, logprobsOf } from './completion-logprobs.ts'
import { encodeError } from './encode-error.ts'
import { envelopeJson, finishReason, timingsJson, usageJson, type AnswerEnvelope } from './usage.ts'
import { UsageSum } from './usage-sum.ts'

/** Answers to one or several prompts in one piece; choices are in the order of the prompts. */
export class CompletionAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #envelope: AnswerEnvelope
  readonly #choices: Record<string, unknown>[] = []
  #text = ''
  #logprobs: PromptLogprob[] | undefined
  readonly #usage: UsageSum
  #timings = ''

  /** @param choices for each prompt */
  constructor(envelope: AnswerEnvelope, choices: number) {
    this.#envelope = envelope
    this.#usage = new UsageSum(choices)
  }

  part(part: Part): string {
    if (part.type !== 'text') return ''
    this.#text += part.text
    const logprobs = logprobsOf(part)
    for (const entry of logprobs ?? []) (this.#logprobs ??= []).push(entry)
    return ''
  }

  end(result: Result, task: number, info: RunInfo): string {
    const logprobs = this.#logprobs === undefined ? null : completionLogprobs(this.#logprobs, 0)
    this.#choices.push({ text: this.#text, index: task, logprobs, finish_reason: finishReason(result) })
    this.#text = ''
    this.#logprobs = undefined
    this.#usage.add(result.usage, task)
    this.#timings = timingsJson(result, info)
    return ''
  }

  finish(): string {
    // Stages of several runs do not add up to anything.
    const timings = this.#choices.length === 1 ? `,"timings":${this.#timings}` : ''
    const choices = JSON.stringify(this.#choices)
    const head = envelopeJson(this.#envelope, 'text_completion')
    return `${head},"choices":${choices},"usage":${usageJson(this.#usage.total)}${timings}}`
  }
}
