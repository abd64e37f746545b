/** What we use of `@huggingface/transformers`; the package is optional, so that its own types are not at hand. */
export interface TransformersModule {
  env: {
    allowRemoteModels: boolean
    useFSCache: boolean
    useBrowserCache: boolean
  }
  AutoTokenizer: { from_pretrained: (folder: string) => Promise<TextTokenizer> }
  AutoProcessor: { from_pretrained: (folder: string) => Promise<SoundProcessor> }
  AutoModelForSpeechSeq2Seq: {
    from_pretrained: (folder: string, options: ModelOptions) => Promise<SpeechModel>
  }
  AutoModelForImageClassification: {
    from_pretrained: (folder: string, options: ModelOptions) => Promise<Classifier>
  }
  AutoModelForObjectDetection: {
    from_pretrained: (folder: string, options: ModelOptions) => Promise<Encoder>
  }
  AutoModelForVision2Seq: {
    from_pretrained: (folder: string, options: ModelOptions) => Promise<CaptionModel>
  }
  AutoImageProcessor: { from_pretrained: (folder: string) => Promise<ImageProcessor> }
  RawImage: new (data: Uint8ClampedArray, width: number, height: number, channels: 3) => DecodedImage
  InterruptableStoppingCriteria: new () => InterruptibleCriteria
  AutoModelForSequenceClassification: {
    from_pretrained: (folder: string, options: ModelOptions) => Promise<Classifier>
  }
  AutoModel: { from_pretrained: (folder: string, options: ModelOptions) => Promise<Encoder> }
  Tensor: new (...content: ['int64', BigInt64Array, number[]] | ['float32', Float32Array, number[]]) => Tensor
  mean_pooling: (states: Tensor, mask: Tensor) => Tensor
}

export interface ModelOptions {
  dtype: string
  device: 'cpu'
  session_options: { intraOpNumThreads: number; interOpNumThreads: number }
  /** Which graph, where it is not `model`. */
  model_file_name?: string
}

export interface Tensor {
  dims: number[]
  data: Float32Array | BigInt64Array
  slice: (...ranges: (number | null | [number, number])[]) => Tensor
  normalize: (power: number, dimension: number) => Tensor
}

export interface EncodedText {
  input_ids: number[]
  /** Which of two texts a token belongs to, where the model wants to know it. */
  token_type_ids?: number[]
}

export interface Tokenizer {
  (
    text: string,
    options: { add_special_tokens: boolean; truncation: boolean; return_tensor: false; text_pair?: string },
  ): EncodedText
}

export interface Encoder {
  (inputs: Record<string, Tensor>): Promise<Record<string, Tensor | undefined>>
  dispose: () => Promise<unknown>
}

/** Pixels, red, green and blue of each. */
export interface DecodedImage {
  width: number
  height: number
}

/** Brings images to the size and the numbers that a model sees. */
export interface ImageProcessor {
  (images: readonly DecodedImage[]): Promise<Record<string, Tensor | undefined>>
  /** Of models that detect: for each image its boxes (left, top, right, bottom) in pixels of `sizes` (height, width), with numbers of labels. */
  post_process_object_detection?: (
    outputs: Record<string, Tensor | undefined>,
    threshold: number,
    sizes: [number, number][],
  ) => { boxes: ArrayLike<number>[]; classes: number[]; scores: number[] }[]
}

/** What we use of `sharp`, which comes with the package. */
export type ImageLibrary = (
  bytes: Uint8Array,
  options: { limitInputPixels: number; failOn: 'error' },
) => ImageSteps

interface ImageSteps {
  metadata: () => Promise<{ autoOrient: { width: number; height: number } }>
  autoOrient: () => ImageSteps
  resize: (options: { width: number; height: number; fit: 'inside'; withoutEnlargement: true }) => ImageSteps
  flatten: (options: { background: string }) => ImageSteps
  toColourspace: (name: 'srgb') => ImageSteps
  raw: () => ImageSteps
  toBuffer: (options: {
    resolveWithObject: true
  }) => Promise<{ data: Uint8Array<ArrayBuffer>; info: { width: number; height: number } }>
}

/** A model that tells things apart. */
export interface Classifier extends Encoder {
  /** `multi_label_classification` where several of its labels can be right. */
  config: { problem_type?: string | null }
}

export interface TextTokenizer extends Tokenizer {
  /** Absent where nothing fills texts up. */
  pad_token_id?: number | null
  /** `clean_up_tokenization_spaces: false`: the text of more tokens begins with that of fewer. */
  decode: (
    tokens: readonly number[],
    options: { skip_special_tokens: boolean; clean_up_tokenization_spaces?: boolean },
  ) => string
}

export interface SoundProcessor {
  /** Samples to what the encoder takes; `max_length` of them, silence added where they are fewer. */
  feature_extractor: FeatureExtractor
}

export interface FeatureExtractor {
  (samples: Float32Array, options: { max_length: number }): Promise<{ input_features: Tensor }>
  /** Of one window. */
  config: { nb_max_frames: number; feature_size: number }
}

/** Ends a generation between two tokens. */
export interface InterruptibleCriteria {
  interrupt: () => void
  /** Asked after each token, with all of each text. */
  _call: (tokens: readonly (readonly bigint[])[], scores: unknown) => boolean[]
}

/** What is said of a text's length and end; all of it may be missing. */
export interface GenerationSettings {
  /** Tokens, the beginning included. */
  max_length?: number | null
  eos_token_id?: number | number[] | null
}

/** A model that writes about an image. */
export interface CaptionModel {
  config: GenerationSettings & { decoder?: GenerationSettings }
  /** Of `generation_config.json`. */
  generation_config: GenerationSettings | null
  generate: (options: {
    inputs: Tensor
    max_new_tokens: number
    do_sample: false
    num_beams: 1
    stopping_criteria: InterruptibleCriteria
  }) => Promise<Tensor>
  dispose: () => Promise<unknown>
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
