import type { TextGeneration } from '../../tasks/sampling.ts'
import type { LoadPlan } from '../engine.ts'
import { REPEAT_WINDOW, resolveSampling } from '../llama-cpp/resolve-sampling.ts'
import type { Vocabulary } from './vocabulary.ts'

/** What the last event is to tell; without it, it repeats the prompt. */
const LAST_EVENT = ['stop', 'stop_type', 'tokens_predicted', 'tokens_evaluated']

/** Sent with every part of an answer. */
export interface SamplingFields {
  [field: string]: unknown
}

/**
 * How tokens are chosen, as `/completion` has it. `repeatPenalty` looks back on 64 tokens; presence and frequency penalties on the whole
 * context, the prompt included: this engine knows no other way. @throws invalid_request for token ids that the model has not
 */
export function samplingFields(
  { sampling, topLogprobs }: TextGeneration,
  { spec, contextSize }: Pick<LoadPlan, 'spec' | 'contextSize'>,
  vocabulary: Pick<Vocabulary, 'requireTokens'>,
): SamplingFields {
  const { temperature, topK, topP, minP, seed, repeatPenalty, presencePenalty, frequencyPenalty } =
    resolveSampling(sampling, spec.defaults)
  const bias = Object.entries(sampling.logitBias ?? {}).map(([id, value]): [number, number] => [
    Number(id),
    value,
  ])
  vocabulary.requireTokens(
    bias.map(([id]) => id),
    'logit_bias',
  )
  return {
    stream: true,
    return_progress: true,
    response_fields: LAST_EVENT,
    temperature,
    top_k: topK,
    top_p: topP,
    min_p: minP,
    seed,
    repeat_penalty: repeatPenalty,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    repeat_last_n: repeatPenalty === 1 ? contextSize : REPEAT_WINDOW,
    ...(bias.length > 0 && { logit_bias: bias }),
    ...(topLogprobs !== undefined && { n_probs: Math.max(1, topLogprobs) }),
  }
}

/** A grammar would take the names of control tokens for text of its own: they are forbidden, but for those that are meant. */
export function withGrammar(
  fields: SamplingFields,
  gbnf: string,
  { silent }: Vocabulary,
  shows: (text: string) => boolean,
): SamplingFields {
  const forbidden = silent.filter(({ text }) => !shows(text)).map(({ id }) => [id, false])
  const bias = (fields['logit_bias'] as unknown[] | undefined) ?? []
  return { ...fields, grammar: gbnf, logit_bias: [...bias, ...forbidden] }
}
