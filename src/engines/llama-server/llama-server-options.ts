import { list, object, type Fields } from '../../base/compound-shapes.ts'
import { choice, filePath, flag, number } from '../../base/scalar-shapes.ts'
import { described, type Shape } from '../../base/shape.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { readEngineOptions } from '../engine-options.ts'
import type { KvCacheType } from '../llama-cpp/footprint.ts'

/** Options of a model that only this engine knows (E8). */
export interface LlamaServerOptions {
  /** The program, instead of the one that is found. */
  binary?: string
  /** Most tokens evaluated at once: others wait so long. Default: as many as take a second, from 32 to 512 on a CPU, 2,048 on a GPU. */
  batchSize?: number
  /** Default `auto`. */
  flashAttention?: boolean | 'auto'
  /** Precision of the KV cache; less than f16 needs flash attention. Default `f16`. */
  kvCacheType?: KvCacheType
  /** The whole context for layers with a sliding window, so that any beginning can be kept. Default true. */
  fullWindow?: boolean
  /** Maps the weights from their file, so that several processes share them. Default true. */
  memoryMap?: boolean
  /** Adapters for the whole instance. */
  lora?: { path: string; scale?: number }[]
  /** The projector file that lets the model see images. */
  mmproj?: string
  /** A small model of the same vocabulary that guesses ahead. */
  draft?: { path: string; tokens?: number }
}

const adapter = object({ path: filePath(), scale: number() }, { required: ['path'] })
const draftModel = object(
  { path: filePath(), tokens: number({ min: 1, max: 64, whole: true }) },
  { required: ['path'] },
)

/** By name, for the configuration's check. */
export const llamaServerOptionFields: Record<keyof LlamaServerOptions, Shape<unknown>> = {
  binary: described(filePath(), 'The llama-server program; default: the one on PATH, else the installed one'),
  batchSize: described(
    number({ min: 32, max: 8192, whole: true }),
    'Most tokens evaluated at once; default: as many as take a second',
  ),
  flashAttention: described(choice<boolean | 'auto'>(true, false, 'auto'), 'Flash attention', 'auto'),
  kvCacheType: described(
    choice('f32', 'f16', 'bf16', 'q8_0', 'q5_1', 'q5_0', 'q4_1', 'q4_0', 'iq4_nl'),
    'Precision of the KV cache',
    'f16',
  ),
  fullWindow: described(flag(), 'The whole context for layers with a sliding window', true),
  memoryMap: described(flag(), 'Map the weights from their file', true),
  lora: described(list(adapter), 'LoRA adapters'),
  mmproj: described(filePath(), 'Projector file that lets the model see images'),
  draft: described(draftModel, 'A small model of the same vocabulary that guesses ahead'),
}

const shape = object<Fields>(llamaServerOptionFields)

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function llamaServerOptions(spec: ModelSpec): LlamaServerOptions {
  return readEngineOptions('llama-server', shape, spec) as LlamaServerOptions
}
