import { sleep, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { LoadPlan } from '../engine.ts'
import type { EncodedText, Tensor, Tokenizer, TransformersModule } from './transformers-module.ts'

/** Characters from which a text is refused before it is cut into tokens: more than any encoder's context. */
const LONG_TEXT = 1_000_000

/** What an error names: the field of the request and, where it is none of a field's own words, what has too many tokens. */
interface Place {
  /** Of the text among the inputs, or of the label among the labels. */
  readonly index: number
  readonly field?: string | undefined
  readonly what?: string
}

/**
 * A text in tokens, marks included. @param index its place among the inputs, for errors
 * @param field that an error names where the text is none of the inputs
 * @throws ModelyardError `context_length_exceeded` with both numbers
 */
export function encodeText(
  { contextSize }: LoadPlan,
  tokenizer: Tokenizer,
  text: string,
  index: number,
  field?: string,
): EncodedText {
  if (text.length > LONG_TEXT) throw tooLong({ index, field }, text.length, contextSize, 'characters')
  const encoded = cut(tokenizer, text)
  const { length } = encoded.input_ids
  if (length > contextSize) throw tooLong({ index, field }, length, contextSize, 'tokens')
  return encoded
}

/** A sentence that a text is judged by. */
export interface Sentence {
  readonly text: string
  /** In tokens, alone. */
  readonly length: number
  /** Of the request. */
  readonly field: string
}

/**
 * A text and the sentence it is judged by in tokens, marks included. @param index of the text among the inputs, for errors
 * @throws ModelyardError `context_length_exceeded`: of two that are short enough alone, the longer one is the field
 */
export function encodePair(
  plan: LoadPlan,
  tokenizer: Tokenizer,
  text: string,
  index: number,
  sentence: Sentence,
): EncodedText {
  const { contextSize } = plan
  if (text.length > LONG_TEXT) throw tooLong({ index }, text.length, contextSize, 'characters')
  const both = cut(tokenizer, text, sentence.text)
  const { length } = both.input_ids
  if (length <= contextSize) return both
  const alone = encodeText(plan, tokenizer, text, index).input_ids.length
  const field = alone < sentence.length ? sentence.field : undefined
  throw tooLong(
    { index, field, what: `input ${index} with '${sentence.field}'` },
    length,
    contextSize,
    'tokens',
  )
}

function cut(tokenizer: Tokenizer, text: string, pair?: string): EncodedText {
  return tokenizer(text, {
    add_special_tokens: true,
    truncation: false,
    return_tensor: false,
    ...(pair !== undefined && { text_pair: pair }),
  })
}

/** Texts that are cut into tokens before other events have a turn. */
const BREATH = 16

/** Encodes all inputs before one is evaluated. It is done in JavaScript: an abort is heard between texts, and what was encoded until then comes back. */
export async function encodeAll<Input, Encoded>(
  inputs: readonly Input[],
  encode: (input: Input, index: number) => Encoded,
  clock: Clock,
  isOver: () => boolean,
): Promise<Encoded[]> {
  const encoded: Encoded[] = []
  for (const [index, input] of inputs.entries()) {
    if (isOver()) return encoded
    encoded.push(encode(input, index))
    if (index % BREATH === BREATH - 1) await sleep(clock, 0)
  }
  return encoded
}

/** What a model is fed with: one row. */
export function feeds(module: TransformersModule, encoded: EncodedText): Record<string, Tensor> {
  const { input_ids: tokens, token_type_ids: types } = encoded
  const row = (values: readonly number[]): Tensor =>
    new module.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length])
  return {
    input_ids: row(tokens),
    attention_mask: row(tokens.map(() => 1)),
    ...(types !== undefined && { token_type_ids: row(types) }),
  }
}

function tooLong(
  { index, field, what = field === undefined ? `input ${index}` : `'${field}'` }: Place,
  length: number,
  contextSize: number,
  unit: string,
): ModelyardError {
  return new ModelyardError(
    'context_length_exceeded',
    `The maximum context length is ${contextSize} tokens, but ${what} has ${length} ${unit}; shorten it.`,
    { details: { promptTokens: length, contextSize, index, param: field ?? `input[${index}]` } },
  )
}
