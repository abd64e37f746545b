import { list, object } from '../../base/compound-shapes.ts'
import { choice, filePath, flag, number } from '../../base/scalar-shapes.ts'
import { described, type Shape } from '../../base/shape.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { readEngineOptions } from '../engine-options.ts'

/** Options of a model that only this engine knows (E8). */
export interface NodeLlamaCppOptions {
  /** Tokens evaluated at once. Default 512 on a GPU, 256 on a processor, and 64 there without flash attention. Larger ones cost memory. */
  batchSize?: number
  /** Default `auto`. Off makes long prompts faster on a slow processor, and costs memory for scores; the cache cannot be quantised then. */
  flashAttention?: boolean | 'auto'
  /** Precision of the KV cache. `q8_0` needs half the memory and flash attention. Default `f16`. */
  kvCacheType?: 'f32' | 'f16' | 'q8_0'
  /** The whole context for layers with a sliding window, so that any beginning can be kept. Default true. */
  fullWindow?: boolean
  /** Maps the weights from their file, so that several processes share them. Default true. */
  memoryMap?: boolean
  /** Reads all weights once at load to find NaN in them. Default false. */
  checkTensors?: boolean
  /** Adapters for the whole instance. */
  lora?: { path: string; scale?: number }[]
}

const adapter = object({ path: filePath(), scale: number() }, { required: ['path'] })

/** By name, for the configuration's check. */
export const nodeLlamaCppOptionFields: Record<keyof NodeLlamaCppOptions, Shape<unknown>> = {
  batchSize: described(
    number({ min: 8, max: 8192, whole: true }),
    'Tokens evaluated at once; by default 512 on a GPU, 64 or 256 on a processor',
  ),
  flashAttention: described(
    choice<boolean | 'auto'>(true, false, 'auto'),
    'Flash attention; by default off on a processor where its scores are small, otherwise auto',
  ),
  kvCacheType: described(choice('f32', 'f16', 'q8_0'), 'Precision of the KV cache', 'f16'),
  fullWindow: described(flag(), 'The whole context for layers with a sliding window', true),
  memoryMap: described(flag(), 'Map the weights from their file', true),
  checkTensors: described(flag(), 'Look for NaN in the weights at load', false),
  lora: described(list(adapter as Shape<{ path: string; scale?: number }>), 'LoRA adapters'),
}

export const nodeLlamaCppOptionsShape: Shape<NodeLlamaCppOptions> = object(
  nodeLlamaCppOptionFields,
) as Shape<NodeLlamaCppOptions>

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function nodeLlamaCppOptions(spec: ModelSpec): NodeLlamaCppOptions {
  return readEngineOptions('node-llama-cpp', nodeLlamaCppOptionsShape, spec)
}
