import type { GgufFacts } from '../../../models/model-facts.ts'

/** SmolLM2-135M-Instruct in Q4_1. */
export const SMOLLM2: GgufFacts = {
  architecture: 'llama',
  parameterCount: 134_515_008,
  tensorBytes: 96_576_768,
  repackedBytes: 0,
  layers: 30,
  contextLength: 8192,
  embeddingLength: 576,
  feedForwardLength: 1536,
  heads: 9,
  kvHeads: Array.from({ length: 30 }, () => 3),
  keyLength: 64,
  valueLength: 64,
  vocabularySize: 49_152,
  tokenizer: { model: 'gpt2', addBos: false },
}
