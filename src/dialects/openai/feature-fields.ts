import type { FeatureFields } from '../dialect.ts'

/** Which field asks for a feature that a model or its engine may lack. */
export const CHAT_FEATURE_FIELDS: FeatureFields = {
  task: 'model',
  tools: 'tools',
  'structured-output': 'response_format',
  grammar: 'grammar',
  logprobs: 'logprobs',
  reasoning: 'reasoning_effort',
  images: 'messages',
  audio: 'messages',
  prefill: 'messages',
  'logit-bias': 'logit_bias',
}

export const COMPLETION_FEATURE_FIELDS: FeatureFields = {
  task: 'model',
  logprobs: 'logprobs',
  infill: 'suffix',
  'token-input': 'prompt',
  echo: 'echo',
  'prompt-logprobs': 'logprobs',
  'logit-bias': 'logit_bias',
}

export const EMBEDDING_FEATURE_FIELDS: FeatureFields = {
  task: 'model',
  'token-input': 'input',
  images: 'input',
}
