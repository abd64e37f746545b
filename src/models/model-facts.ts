/** What inspecting a model's files found. Plain data; nothing here is trusted by an engine without its own checks. */
export interface ModelFacts {
  format: FileFormat | 'none'
  /** Absolute path of the file or folder the engine opens; absent for engines without weights. */
  path?: string
  /** Bytes of all files of the model. */
  fileSize: number
  /** Identity of the bytes on disk, cheap to compute: a hash over device, inode and the sha256 where known, else size and mtime. Two models with one identity share their mapped pages; two copies of one content do not. */
  contentId: string
  /** Identity of the content wherever it lies (`weightsId`): what a parked context belongs to. Absent for engines without weights. */
  weightsId?: string
  /** What the model is for, judged from its header or its `config.json`. */
  purpose: ModelPurpose
  gguf?: GgufFacts
  onnx?: OnnxFacts
  safetensors?: SafetensorsFacts
  /** Of a model that is in another server's memory. */
  endpoint?: EndpointFacts
}

/** What is known of a model that another server has: what that server says of it, and what it refused. */
export interface EndpointFacts {
  /** Beginning of its API. */
  url: string
  /** Tokens of a conversation, where it says so. */
  contextLength?: number
  /** Each at most once; what nobody said anything of is absent. */
  abilities: EndpointAbility[]
  /** How tokens of a prompt can be counted there; absent = not at all. */
  counting?: 'tokenize-messages' | 'apply-template'
  /** Why it could not be asked; what else stands here is from before. */
  problem?: string
}

/** Kinds of tasks, and names of the fields of `EngineCapabilities`. */
export interface EndpointAbility {
  name: string
  has: boolean
  /** Where this is known from, for people. */
  source: string
}

/** What files of models are. */
export type FileFormat = 'gguf' | 'onnx' | 'safetensors'

export type ModelPurpose =
  | 'generation'
  | 'embedding'
  | 'rerank'
  | 'transcription'
  | 'speech'
  | 'classification'
  | 'captioning'
  | 'detection'
  | 'image'

/** A folder with safetensors, a tokenizer and configuration, as the transformers library and mlx_lm read it. */
export interface SafetensorsFacts {
  /** Of `config.json`: `qwen2`, `llama`, … */
  modelType: string
  /** How its weights are stored, in words: `4 bits in groups of 64`, `bfloat16`. Absent where `config.json` does not say. */
  quantization?: string
  /** Bytes of all weights as stored. */
  weightBytes: number
  layers: number
  /** Context the model was trained for. */
  contextLength: number
  kvHeads: number
  /** Length of a key or value of one head. */
  headLength: number
  vocabularySize: number
  /** Bytes of a number in the cache. */
  numberBytes: 2 | 4
  chatTemplate?: string
  /** The part that sees; absent = the model reads text alone, or the weights of that part are not there. */
  vision?: VisionFacts
  /** File of program code in the folder that the configuration wants to be run (`model_file`). */
  codeFile?: string
}

/** The part of a model that sees, by `config.json` and the headers of its weights. */
export interface VisionFacts {
  /** Of `config.json`, of the whole: `qwen2_vl`, `llava`, … */
  modelType: string
  /** Bytes of its weights as stored, among those of the model. */
  weightBytes: number
  /** Numbers that it keeps for each patch of a picture. */
  width: number
  /** Pixels of a patch's side. */
  patchSize: number
}

/** A folder with ONNX graphs, a tokenizer and configuration, as transformers.js and sherpa-onnx read it. */
export interface OnnxFacts {
  /** Of `config.json`: `bert`, `whisper`, …; `piper`, `kokoro` for voices. Absent where nothing says it. */
  modelType?: string
  /** Of `config.json`; empty where it names none. */
  architectures: string[]
  /** Tokens a text may have, where the configuration says it. */
  contextLength?: number
  /** What the model tells apart, by number; empty for all that does not classify. */
  labels: string[]
  /** Graphs and what belongs to them, relative to the folder, with their bytes. */
  graphs: { file: string; bytes: number }[]
  /** Files that it needs for what it is for, and that are not there. */
  missing: string[]
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
