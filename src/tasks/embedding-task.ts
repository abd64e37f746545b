/** A text, token ids of this model (range-checked by the engine), or the bytes of a whole image file. */
export type EmbeddingInput = string | number[] | Uint8Array

export interface EmbeddingTask {
  kind: 'embedding'
  /** Never empty; order is kept. */
  inputs: EmbeddingInput[]
  /** Length of the vectors wanted; shorter ones are cut and normalised again. */
  dimensions?: number
}
