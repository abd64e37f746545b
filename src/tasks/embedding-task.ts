export interface EmbeddingTask {
  kind: 'embedding'
  /** Texts, or token ids of this model (range-checked by the engine). Never empty; order is kept. */
  inputs: (string | number[])[]
  /** Length of the vectors wanted; shorter ones are cut and normalised again. */
  dimensions?: number
}
