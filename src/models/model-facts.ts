/** What inspecting a model's files found. Plain data; nothing here is trusted by an engine without its own checks. */
export interface ModelFacts {
  format: 'gguf' | 'none'
  /** Absolute path of the file the engine opens; absent for engines without weights. */
  path?: string
  /** Bytes of all files of the model. */
  fileSize: number
  /** Identity of the bytes on disk, cheap to compute: a hash over device, inode and the sha256 where known, else size and mtime. Two models with one identity share their mapped pages; two copies of one content do not. */
  contentId: string
  /** Identity of the content wherever it lies (`weightsId`): what a parked context belongs to. Absent for engines without weights. */
  weightsId?: string
  /** What the model is for, judged from the header. */
  purpose: 'generation' | 'embedding' | 'rerank'
  gguf?: GgufFacts
}

export interface GgufFacts {
  architecture: string
  name?: string
  fileType?: string
  parameterCount: number
  /** Bytes of all tensors as stored. */
  tensorBytes: number
  /** Bytes of tensors whose quantisation the CPU backend repacks into private memory (Q4_0, …). */
  repackedBytes: number
  layers: number
  /** Context the model was trained for. */
  contextLength: number
  embeddingLength: number
  feedForwardLength: number
  heads: number
  /** Per layer, so that architectures with differing layers are counted right. */
  kvHeads: number[]
  keyLength: number
  valueLength: number
  vocabularySize: number
  slidingWindow?: number
  experts?: number
  tokenizer: { model: string; pre?: string; addBos: boolean; bosToken?: string; eosToken?: string }
  chatTemplate?: string
  pooling?: 'none' | 'mean' | 'cls' | 'last' | 'rank'
}
