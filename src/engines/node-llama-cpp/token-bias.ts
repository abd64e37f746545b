import type { LlamaModel, LlamaModule, LlamaTokenBias } from './llama-module.ts'
import type { Vocabulary } from './vocabulary.ts'

/** @throws invalid_request for ids that are not in the vocabulary */
export function tokenBiasOf(
  { logitBias, forbidden }: { logitBias: Record<number, number> | undefined; forbidden: readonly number[] },
  module: LlamaModule,
  model: LlamaModel,
  vocabulary: Vocabulary,
): LlamaTokenBias | undefined {
  const entries = Object.entries(logitBias ?? {}).map(([id, bias]): [number, number] => [Number(id), bias])
  if (entries.length === 0 && forbidden.length === 0) return undefined
  vocabulary.requireTokens(
    entries.map(([id]) => id),
    'logit_bias',
  )
  const bias = new module.TokenBias(model.tokenizer)
  for (const [id, logit] of entries) {
    bias.set([id], { logit })
    // The engine leaves out the tokens that end a turn, silently; its list is the only way to say it.
    bias._biases?.set(id, logit)
  }
  for (const id of forbidden) bias._biases?.set(id, -Infinity)
  return bias
}
