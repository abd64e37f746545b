/** What we use of `@huggingface/transformers`; the package is optional, so that its own types are not at hand. */
export interface TransformersModule {
  env: {
    allowRemoteModels: boolean
    useFSCache: boolean
    useBrowserCache: boolean
  }
  AutoTokenizer: { from_pretrained: (folder: string) => Promise<TextTokenizer> }
  AutoProcessor: { from_pretrained: (folder: string) => Promise<FeatureExtractor> }
  AutoModelForSpeechSeq2Seq: {
    from_pretrained: (folder: string, options: ModelOptions) => Promise<SpeechModel>
  }
  InterruptableStoppingCriteria: new () => InterruptibleCriteria
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

export interface TextTokenizer extends Tokenizer {
  decode: (tokens: readonly number[], options: { skip_special_tokens: boolean }) => string
}

/** Samples to what the encoder takes. */
export type FeatureExtractor = (samples: Float32Array) => Promise<{ input_features: Tensor }>

/** Ends a generation between two tokens. */
export interface InterruptibleCriteria {
  interrupt: () => void
  _call: (tokens: unknown, scores: unknown) => boolean[]
}

export interface SpeechModel {
  generation_config: {
    decoder_start_token_id: number
    eos_token_id: number
    no_timestamps_token_id: number
    prev_sot_token_id?: number
    is_multilingual?: boolean
    lang_to_id?: Record<string, number>
    task_to_id?: Record<string, number>
  }
  generate: (options: {
    inputs: Tensor
    decoder_input_ids: number[]
    max_new_tokens: number
    return_timestamps?: boolean
    do_sample?: boolean
    temperature?: number
    top_k?: number
    stopping_criteria?: InterruptibleCriteria
  }) => Promise<Tensor>
  dispose: () => Promise<unknown>
}
