export type GgufValue = number | boolean | string | number[]

/** An array that was stepped over. */
export interface GgufArray {
  elementType: number
  length: number
  /** File offset of the first element. */
  offset: number
}

export interface GgufTensor {
  name: string
  /** ggml order: the first is the row length. */
  dimensions: number[]
  /** For example `Q4_K`. */
  type: string
  bytes: number
}

/** What the header of one GGUF file says, checked against the size of the file. */
export interface GgufHeader {
  path: string
  fileSize: number
  version: number
  /** All numbers and booleans, the texts that are of use, and short arrays of per-layer numbers. */
  values: ReadonlyMap<string, GgufValue>
  arrays: ReadonlyMap<string, GgufArray>
  tensors: readonly GgufTensor[]
}
