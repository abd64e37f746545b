import type { Part, Result } from '../../tasks/part.ts'
import type { Usage } from '../../tasks/usage.ts'
import { isMap } from '../../base/is-map.ts'
import type { AnswerReader, IncomingAnswer } from './answer-reader.ts'
import { broken, documentOf } from './reply-document.ts'
import { errorAsAnswer, unreadable } from './upstream-error.ts'
import { UNKNOWN_USAGE } from './wire-answer.ts'

/** Bytes: ten large pictures in base64 have this room, and ranks that come with all their documents. */
const LONGEST_DOCUMENT = 512 * 1024 * 1024

/** What a document says beside its usage. @throws ModelyardError `engine_failed` when something is missing in it */
export type ReadDocument = (document: Readonly<Record<string, unknown>>) => Part[]

/** What comes as one JSON document: ranks, transcripts, images. */
export class DocumentReader implements AnswerReader {
  readonly #incoming: IncomingAnswer
  readonly #partsOf: ReadDocument
  readonly #begun: number
  #result: Result | undefined

  constructor(incoming: IncomingAnswer, partsOf: ReadDocument) {
    this.#incoming = incoming
    this.#partsOf = partsOf
    this.#begun = incoming.clock.now()
  }

  async read(): Promise<boolean> {
    if (this.#result !== undefined) return false
    const { parts, clock, model, body, onMoved } = this.#incoming
    const document: unknown = await documentOf(body, model, LONGEST_DOCUMENT)
    onMoved()
    if (!isMap(document)) throw unreadable(model, 'a list instead of an object')
    const error = errorAsAnswer(model, document)
    if (error !== undefined) throw error
    const usage = documentUsage(document['usage'])
    const found = this.#partsOf(document)
    parts.push({ type: 'started', promptTokens: usage.promptTokens, cachedTokens: 0 }, ...found)
    this.#result = {
      finishReason: 'stop',
      usage,
      timings: { prefill: clock.now() - this.#begun, decode: 0 },
    }
    return true
  }

  result(): Result {
    if (this.#result === undefined) throw broken(this.#incoming.model)
    return this.#result
  }
}

/** Chat's names of counts, those of newer routes, or Jina's total alone; seconds of a sound count no tokens. */
function documentUsage(usage: unknown): Usage {
  if (!isMap(usage)) return UNKNOWN_USAGE
  const { prompt_tokens: prompt, input_tokens: input, total_tokens: total } = usage
  const promptTokens = [prompt, input, total].find((count) => typeof count === 'number')
  if (promptTokens === undefined) return UNKNOWN_USAGE
  const { completion_tokens: completion, output_tokens: output } = usage
  const completionTokens = [completion, output].find((count) => typeof count === 'number') ?? 0
  return { promptTokens, cachedTokens: 0, completionTokens, reasoningTokens: 0 }
}
