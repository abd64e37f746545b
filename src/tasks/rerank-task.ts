export interface RerankTask {
  kind: 'rerank'
  query: string
  /** Never empty; each gets one score, in this order. */
  documents: string[]
}
