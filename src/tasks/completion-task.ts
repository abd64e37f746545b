import type { TextGeneration } from './sampling.ts'

export interface CompletionTask extends TextGeneration {
  kind: 'completion'
  /** Text, or token ids of this model (range-checked by the engine). */
  prompt: string | number[]
  /** Present = infill between prompt and suffix. */
  suffix?: string
  /** The prompt is sent back before the completion. */
  echo?: boolean
}
