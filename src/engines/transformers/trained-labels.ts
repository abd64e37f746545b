import { ModelyardError } from '../../base/errors.ts'
import type { LoadPlan } from '../engine.ts'
import { likelihood } from '../../base/likelihood.ts'
import { ranked, shares, type LabelScore } from './label-scores.ts'
import type { Classifier, Tensor } from './transformers-module.ts'

/** The numbers that a model that classifies gives, one for each of its labels. */
export function logitsOf({ logits }: Record<string, Tensor | undefined>): number[] {
  if (logits !== undefined) return Array.from(logits.data as Float32Array)
  throw new ModelyardError('engine_failed', 'The model’s graph gives no scores of labels ("logits").')
}

/** What they say, with the labels that the model was trained for. */
export function trainedLabels(
  { facts }: LoadPlan,
  { config }: Classifier,
  logits: readonly number[],
): LabelScore[] {
  // Several can be right, or there is only one: it is or is not.
  const alone = config.problem_type === 'multi_label_classification' || logits.length === 1
  return ranked(facts.onnx?.labels ?? [], alone ? logits.map(likelihood) : shares(logits))
}
