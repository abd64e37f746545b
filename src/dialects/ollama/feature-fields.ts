import type { FeatureFields } from '../dialect.ts'

/** Which field asks for a feature that a model or its engine may lack. */
export const GENERATE_FEATURE_FIELDS: FeatureFields = {
  task: 'model',
  'structured-output': 'format',
  logprobs: 'logprobs',
  reasoning: 'think',
  images: 'images',
  infill: 'suffix',
}

export const CHAT_FEATURE_FIELDS: FeatureFields = {
  task: 'model',
  tools: 'tools',
  'structured-output': 'format',
  logprobs: 'logprobs',
  reasoning: 'think',
  images: 'messages',
  prefill: 'messages',
}

export const EMBED_FEATURE_FIELDS: FeatureFields = { task: 'model' }
