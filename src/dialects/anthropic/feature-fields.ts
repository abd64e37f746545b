import type { FeatureFields } from '../dialect.ts'

/** Which field asks for a feature that a model or its engine may lack. */
export const FEATURE_FIELDS: FeatureFields = {
  task: 'model',
  tools: 'tools',
  'structured-output': 'output_config.format',
  reasoning: 'thinking',
  images: 'messages',
  prefill: 'messages',
}
