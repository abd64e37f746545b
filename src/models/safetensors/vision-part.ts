import { isMap } from '../../base/is-map.ts'
import type { VisionFacts } from '../model-facts.ts'
import { readTensorBytes } from './tensor-bytes.ts'

/**
 * Models that see, know no `vision_config`, and are none that mlx_lm runs for their text; by the folders of models in the sources of mlx_vlm 0.7.10 and
 * mlx_lm 0.32.2.
 */
const SEEING_TYPES = new Set(
  (
    'bunny-llama deepseekocr deepseekocr_2 fastvlm got internvl_chat jvlm llava-qwen2 llava_qwen2 molmo molmo2 molmo_point moondream1 moondream2 ' +
    'moondream3 phi3_v phi4-siglip phi4mm plamo2vl'
  ).split(' '),
)

/** What the weights of the part that sees are called: the tower, and what makes tokens of what it saw. */
const SEEING = /visi|visual|image|img_|multi_modal|mm_projector|connector|aligner|siglip|(^|\.)mlp1\./i

/** Usual in models of some thousand million parameters; taken where the configuration says nothing. */
const USUAL = { width: 1280, patchSize: 14 }

/**
 * The part that sees; undefined for models that read text alone, also for those whose configuration knows of such a part and whose weights do
 * not hold it: who converts a model for its text alone leaves it out. @throws ModelyardError `model_file_invalid` for weights without a header
 */
export async function visionOf(
  configuration: Record<string, unknown>,
  weights: readonly string[],
): Promise<VisionFacts | undefined> {
  const { model_type: type, vision_config: part } = configuration
  const modelType = typeof type === 'string' ? type : 'unknown'
  if (!isMap(part) && !SEEING_TYPES.has(modelType.toLowerCase())) return undefined
  const bytes = await Promise.all(weights.map(async (path) => await readTensorBytes(path, SEEING)))
  const weightBytes = bytes.reduce((sum, count) => sum + count, 0)
  if (weightBytes === 0) return undefined
  const fields = isMap(part) ? part : {}
  return {
    modelType,
    weightBytes,
    // Qwen2-VL calls what comes out `hidden_size`.
    width: firstWhole(fields, ['embed_dim', 'width', 'hidden_size']) ?? USUAL.width,
    patchSize: firstWhole(fields, ['patch_size']) ?? USUAL.patchSize,
  }
}

function firstWhole(fields: Record<string, unknown>, names: readonly string[]): number | undefined {
  return names
    .map((name) => fields[name])
    .find((value): value is number => typeof value === 'number' && Number.isInteger(value) && value > 0)
}
