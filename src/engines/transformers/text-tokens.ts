import { sleep, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { LoadPlan } from '../engine.ts'
import type { EncodedText, Tensor, Tokenizer, TransformersModule } from './transformers-module.ts'

/** Characters from which a text is refused before it is cut into tokens: more than any encoder's context. */
const LONG_TEXT = 1_000_000

/**
 * A text in tokens, or two that belong together, marks included. @param index its place among the inputs, for errors
 * @param more a second text; and the field that an error names where the text is none of the inputs
 * @throws ModelyardError `context_length_exceeded` with both numbers
 */
export function encodeText(
  { contextSize }: LoadPlan,
  tokenizer: Tokenizer,
  text: string,
  index: number,
  { pair, field }: { pair?: string | undefined; field?: string | undefined } = {},
): EncodedText {
  if (text.length > LONG_TEXT) throw tooLong({ index, field }, text.length, contextSize, 'characters')
  const encoded = tokenizer(text, {
    add_special_tokens: true,
    truncation: false,
    return_tensor: false,
    ...(pair !== undefined && { text_pair: pair }),
  })
  const { length } = encoded.input_ids
  if (length > contextSize) throw tooLong({ index, field }, length, contextSize, 'tokens')
  return encoded
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

interface Place {
  readonly index: number
  readonly field: string | undefined
}

function tooLong({ index, field }: Place, length: number, contextSize: number, unit: string): ModelyardError {
  const what = field === undefined ? `input ${index}` : `'${field}'`
  return new ModelyardError(
    'context_length_exceeded',
    `The maximum context length is ${contextSize} tokens, but ${what} has ${length} ${unit}; shorten it.`,
    { details: { promptTokens: length, contextSize, index, param: field ?? `input[${index}]` } },
  )
}
