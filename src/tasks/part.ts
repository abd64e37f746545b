import type { ImageBox } from './detection-task.ts'
import type { EngineTimings, Usage } from './usage.ts'

export interface TokenLogprob {
  text: string
  bytes: number[]
  logprob: number
  top: { text: string; bytes: number[]; logprob: number }[]
}

/** A token of the prompt; the first has nothing before it that could make it likely. */
export type PromptLogprob = Omit<TokenLogprob, 'logprob'> & { logprob: number | null }

/** What streams out of a run, in order: one `started`, then text, reasoning, tool calls, vectors, scores, labels, objects, segments, sound or images. */
export type Part =
  /** The prompt is evaluated, generation begins: all checks that could refuse the task are behind us. */
  | { type: 'started'; promptTokens: number; cachedTokens: number }
  /** `promptLogprobs`: with a prompt that is sent back where log-probabilities are asked for. */
  | { type: 'text'; text: string; logprobs?: TokenLogprob[]; promptLogprobs?: PromptLogprob[] }
  | { type: 'reasoning'; text: string }
  | { type: 'tool-call'; index: number; id: string; name: string }
  | { type: 'tool-call-arguments'; index: number; text: string }
  | { type: 'vector'; index: number; vector: Float32Array }
  /** 0…1: how well a document answers the query. */
  | { type: 'score'; index: number; score: number }
  /** What an input is, 0…1: all labels of one input, the likeliest first, then those of the next. */
  | { type: 'label'; index: number; label: string; score: number }
  /** A thing on a picture, and where it is; the likeliest first. */
  | { type: 'object'; label: string; score: number; box: ImageBox }
  /** What a transcription is of: comes before its first segment. */
  | { type: 'sound'; seconds: number; language?: string }
  /** What is said from one second to another. */
  | { type: 'segment'; start: number; end: number; text: string }
  /** The next bytes of a sound in the task's format. */
  | { type: 'audio'; data: Uint8Array }
  /** A picture of `width` × `height` pixels, as a whole file; `seed` makes the same one again. */
  | {
      type: 'image'
      index: number
      mediaType: string
      data: Uint8Array
      width: number
      height: number
      seed?: number
    }

export type FinishReason =
  | 'stop' // the model ended its turn
  | 'stop-sequence' // one of the task's stop strings came; Result.stopSequence names it
  | 'length' // maxTokens or the context's end
  | 'tool-calls'
  | 'abort' // library calls only: the signal fired, what came until then stands
  | 'timeout' // likewise

/** How a run ended. A stream without one is broken, never complete (R12). */
export interface Result {
  finishReason: FinishReason
  stopSequence?: string
  usage: Usage
  timings: EngineTimings
}

/** A running task: yields parts, returns the result, throws a ModelyardError. Breaking out cancels the work. */
export interface PartStream extends AsyncGenerator<Part, Result, void> {
  /** For streams whose parts come several at a time: the next that is here already, in its turn. Spares a promise or four for each. */
  takeReady?(): Part | undefined
}

/** Ends a stream early from outside; harmless when it has ended already. */
export async function closeStream(parts: PartStream): Promise<void> {
  await parts.return(undefined as never)
}
