import { isMap } from '../../base/is-map.ts'
import { TEXT_PARTS } from './text-parts.ts'

/**
 * How weights are stored, in words, by `config.json`: what mlx writes (`quantization`), what the transformers library writes
 * (`quantization_config`), else the type of the numbers. Undefined where it says nothing.
 */
export function quantizationOf(configuration: Record<string, unknown>): string | undefined {
  const { quantization, quantization_config: foreign } = configuration
  const parts = [
    configuration,
    ...TEXT_PARTS.map((name) => configuration[name]).filter((part) => isMap(part)),
  ]
  return (
    (isMap(quantization) ? ofMlx(quantization) : undefined) ??
    (isMap(foreign) ? ofTransformers(foreign) : undefined) ??
    parts
      .flatMap(({ torch_dtype: older, dtype }) => [older, dtype])
      .find((type) => typeof type === 'string' && /^\w{1,20}$/.test(type))
  )?.toString()
}

/** `{"bits": 4, "group_size": 64}` */
function ofMlx({ bits, group_size: group, mode }: Record<string, unknown>): string | undefined {
  if (typeof bits !== 'number') return undefined
  const kind = typeof mode === 'string' && /^\w{1,20}$/.test(mode) && mode !== 'affine' ? `${mode}, ` : ''
  return `${kind}${bits} bits${typeof group === 'number' ? ` in groups of ${group}` : ''}`
}

/** `{"quant_method": "gptq", "bits": 4}`; mlx writes its own here, too. */
function ofTransformers(fields: Record<string, unknown>): string | undefined {
  const { quant_method: method, bits } = fields
  if (typeof method !== 'string' || !/^[\w-]{1,30}$/.test(method)) return ofMlx(fields)
  return typeof bits === 'number' ? `${method}, ${bits} bits` : method
}
