import { object, type Fields } from '../../base/compound-shapes.ts'
import { choice, filePath, flag, number, text } from '../../base/scalar-shapes.ts'
import { described, type Shape } from '../../base/shape.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { readEngineOptions } from '../engine-options.ts'
import { declaredMemory, type DeclaredMemory } from '../declared-memory.ts'

/** Options of a model that only this engine knows (E8). */
export interface SdServerOptions {
  /** The program, instead of the `sd-server` on PATH. */
  binary?: string
  /** The model's file has the diffusion model alone: text encoders and VAE are the files below. Default false: a whole checkpoint. */
  diffusionOnly?: boolean
  /** Files beside it: what turns the inner image into pixels, and what reads the text. */
  vae?: string
  taesd?: string
  clipL?: string
  clipG?: string
  t5xxl?: string
  llm?: string
  /** Used where a request leaves them out. Default 20 steps, the program's own `cfg` (7), nothing in the negative prompt. */
  steps?: number
  cfg?: number
  negativePrompt?: string
  /** Names as the program has them; default: what suits the model. */
  sampler?: string
  scheduler?: string
  /** `WIDTHxHEIGHT` where a request says nothing. Default `512x512`. */
  size?: string
  /** `WIDTHxHEIGHT`: no picture has more pixels; what is booked depends on it. Default `1024x1024`. */
  largestSize?: string
  /** Decodes in tiles, which takes a quarter of the memory of 512×512 whatever the size. Default `auto`: above 512×512. */
  vaeTiling?: boolean | 'auto'
  /** Attention that takes less memory. Default false. */
  flashAttention?: boolean
  /** Bytes it takes, instead of the estimate; with a device among them it is run there. */
  memory?: DeclaredMemory
}

export const MOST_STEPS = 100
export const DEFAULT_STEPS = 20

const SIZE = { pattern: /^\d{2,4}x\d{2,4}$/, wants: 'a size in pixels such as "512x512"' }
const NAME = { pattern: /^[a-z0-9_+]+$/, wants: 'a name such as "euler_a"' }

/** By name, for the configuration's check. */
export const sdServerOptionFields: Record<keyof SdServerOptions, Shape<unknown>> = {
  binary: described(filePath(), 'The sd-server program; default: the one on PATH'),
  diffusionOnly: described(flag(), 'The file has the diffusion model alone', false),
  vae: described(filePath(), 'File of the VAE'),
  taesd: described(filePath(), 'File of a tiny autoencoder in the place of the VAE: quicker, less exact'),
  clipL: described(filePath(), 'File of the CLIP-L text encoder'),
  clipG: described(filePath(), 'File of the CLIP-G text encoder'),
  t5xxl: described(filePath(), 'File of the T5-XXL text encoder'),
  llm: described(filePath(), 'File of a language model that reads the text (Flux 2, Qwen-Image, Z-Image)'),
  steps: described(
    number({ min: 1, max: MOST_STEPS, whole: true }),
    'Steps where a request names none',
    DEFAULT_STEPS,
  ),
  cfg: described(
    number({ min: 0, max: 100 }),
    'How strictly the text is followed where a request says nothing',
  ),
  negativePrompt: described(text(), 'What should not be on a picture where a request says nothing'),
  sampler: described(text(NAME), 'Sampling method; default: what suits the model'),
  scheduler: described(text(NAME), 'Scheduler; default: what suits the model'),
  size: described(text(SIZE), 'Size where a request says nothing', '512x512'),
  largestSize: described(text(SIZE), 'No picture has more pixels than this', '1024x1024'),
  vaeTiling: described(
    choice<boolean | 'auto'>(true, false, 'auto'),
    'Decode in tiles; auto: what is larger than 512x512',
    'auto',
  ),
  flashAttention: described(flag(), 'Attention that takes less memory', false),
  memory: described(declaredMemory(), 'Bytes it takes, or bytes per domain; default: an estimate of RAM'),
}

const shape = object<Fields>(sdServerOptionFields)

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function sdServerOptions(spec: ModelSpec): SdServerOptions {
  return readEngineOptions('sd-server', shape, spec) as SdServerOptions
}
