import { ModelyardError } from '../../base/errors.ts'
import type { SafetensorsFacts, VisionFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { MlxOptions } from './mlx-options.ts'

/** Python with mlx, mlx_vlm, its server and what prepares images, beside what mlx_lm takes. */
export const VISION_BASE: number = 150 * 1024 ** 2
/** Patches that become one token: two by two in most models. */
const PATCHES_PER_TOKEN = 4
/** Most patches of a prompt that are counted: images of 3 million pixels. What takes more is seen when it is measured. */
const MOST_PATCHES = 16_384
/** Colours of a patch, twice since models that see videos take two pictures at a time, as numbers of four bytes. */
const COLOURS = 3 * 2 * 4
/** Numbers of four bytes that are there at a time for each one that the part keeps of a patch: attention and what follows it. */
const WIDTHS = 8 * 4

/**
 * The part that sees, where it is to be loaded. @throws ModelyardError `config_invalid` for a wish that this model cannot meet, `unsupported` for
 * code in its folder
 */
export function wantedVision(
  { id }: ModelSpec,
  facts: SafetensorsFacts,
  { vision: wish, draft }: MlxOptions,
): VisionFacts | undefined {
  if (wish === true && facts.vision === undefined) throw wrong(id, 'vision', 'it has no part that sees')
  if (wish === false || facts.vision === undefined) return undefined
  if (draft !== undefined) throw wrong(id, 'draft', 'a model that sees takes no draft here')
  if (facts.codeFile === undefined) return facts.vision
  // mlx_vlm runs it without asking.
  throw new ModelyardError(
    'unsupported',
    `Model "${id}" wants program code of its folder to be run (${facts.codeFile}), which is not done here. Set vision: false to run it for text alone, or take another model.`,
  )
}

/** Bytes while images become tokens: as many as fill the context. */
export function visionCompute({ width, patchSize }: VisionFacts, tokens: number): number {
  const patches = Math.min(PATCHES_PER_TOKEN * tokens, MOST_PATCHES)
  return patches * (patchSize ** 2 * COLOURS + width * WIDTHS)
}

/** Of a load that would see, where mlx-vlm is not there. */
export function noMlxVlm(model: string): ModelyardError {
  return new ModelyardError(
    'unsupported',
    `Model "${model}" sees images, which takes mlx-vlm, and that is not installed. Install it: modelyard engines install mlx --vision. With vision: false it is run for text alone.`,
    { details: { feature: 'images' } },
  )
}

function wrong(id: string, param: string, why: string): ModelyardError {
  return new ModelyardError('config_invalid', `Model "${id}": ${param} cannot be so, since ${why}.`, {
    details: { param },
  })
}
