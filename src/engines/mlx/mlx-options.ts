import type { Fields } from '../../base/compound-shapes.ts'
import { object } from '../../base/compound-shapes.ts'
import { filePath, flag, number } from '../../base/scalar-shapes.ts'
import { described } from '../../base/shape.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { readEngineOptions } from '../engine-options.ts'

/** What a model with `engine: mlx` may say. */
export interface MlxOptions {
  /** Python of an environment with mlx-lm. Default: the one that `modelyard engines install mlx` made. */
  python?: string
  /** Folder with a LoRA adapter, as mlx_lm trains them. */
  adapter?: string
  /** Folder of a small model that proposes tokens. Answers are then made one after the other. */
  draft?: string
  /** Tokens proposed at a time. Default 3. */
  draftTokens?: number
  /** Prompt tokens evaluated between two looks at whether the client is still there. Default 512. */
  prefillStep?: number
  /** Whether the part of the model that sees is loaded, which takes mlx-vlm. Default: where there is one. */
  vision?: boolean
}

export const mlxOptionFields: Record<keyof MlxOptions, Fields[string]> = {
  python: described(filePath(), 'Python of an environment with mlx-lm; default: the installed one.'),
  adapter: described(filePath(), 'Folder with a LoRA adapter.'),
  draft: described(filePath(), 'Folder of a small model that proposes tokens.'),
  draftTokens: described(number({ min: 1, max: 64, whole: true }), 'Tokens proposed at a time.', 3),
  prefillStep: described(
    number({ min: 16, max: 8192, whole: true }),
    'Prompt tokens evaluated at a time.',
    512,
  ),
  vision: described(
    flag(),
    'Whether images are seen, which takes mlx-vlm; default: by models that have a part for it.',
  ),
}

const shape = object<Fields>(mlxOptionFields)

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function mlxOptions(spec: ModelSpec): MlxOptions {
  return readEngineOptions('mlx', shape, spec) as MlxOptions
}
