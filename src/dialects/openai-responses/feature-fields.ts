import type { FeatureFields } from '../dialect.ts'

/** Which field asks for a feature that a model or its engine may lack. */
export const RESPONSE_FEATURE_FIELDS: FeatureFields = {
  task: 'model',
  tools: 'tools',
  'structured-output': 'text.format',
  logprobs: 'include',
  reasoning: 'reasoning.effort',
  images: 'input',
  prefill: 'input',
}
