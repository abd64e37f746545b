/** What we use of `@huggingface/transformers`; the package is optional, so that its own types are not at hand. */
export interface TransformersModule {
  env: {
    allowRemoteModels: boolean
    useFSCache: boolean
    useBrowserCache: boolean
  }
  AutoTokenizer: { from_pretrained: (folder: string, options?: object) => Promise<Tokenizer> }
  AutoModel: { from_pretrained: (folder: string, options: ModelOptions) => Promise<Encoder> }
  Tensor: new (type: 'int64', data: BigInt64Array, dims: number[]) => Tensor
  mean_pooling: (states: Tensor, mask: Tensor) => Tensor
}

export interface ModelOptions {
  dtype: string
  device: 'cpu'
  session_options: { intraOpNumThreads: number; interOpNumThreads: number }
}

export interface Tensor {
  dims: number[]
  data: Float32Array | BigInt64Array
  slice: (...ranges: (number | null | [number, number])[]) => Tensor
  normalize: (power: number, dimension: number) => Tensor
}

export interface Tokenizer {
  (
    text: string,
    options: { add_special_tokens: boolean; truncation: boolean; return_tensor: false },
  ): { input_ids: number[] }
}

export interface Encoder {
  (inputs: { input_ids: Tensor; attention_mask: Tensor }): Promise<Record<string, Tensor | undefined>>
  dispose: () => Promise<unknown>
}
