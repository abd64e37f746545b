import type { JsonSchema } from '../../base/shape.ts'
import { INFERENCE, type Descriptions } from './route-description.ts'
import { FLAG, list, NUMBER, record, TEXT, WHOLE } from './schema-words.ts'

/** What every request for a model's work may carry. */
const CALL: Record<string, JsonSchema> = {
  keep_alive: { type: ['number', 'string'] },
  priority: { enum: ['interactive', 'normal', 'background'] },
  timeout: { type: ['number', 'string'], description: 'Seconds or "30s", for the whole request.' },
}

const ONE_OR_MANY: JsonSchema = { anyOf: [TEXT, list(TEXT)] }

const CLASSIFY: JsonSchema = record(
  { model: TEXT },
  {
    input: { ...ONE_OR_MANY, description: 'Texts; for models that classify texts.' },
    image: { ...ONE_OR_MANY, description: 'Data URIs of images; for models that classify images.' },
    labels: {
      ...list(TEXT),
      description:
        'Labels of your own (zero-shot), for texts and models that were trained on entailment, and for images and CLIP.',
    },
    hypothesis: { ...TEXT, default: 'This example is {}.' },
    multiple: { ...FLAG, default: false, description: 'Several labels can be right.' },
    top: { ...WHOLE, minimum: 1, description: 'So many labels of each input; default all.' },
    ...CALL,
  },
)

const TOKENS: JsonSchema = record({ prompt_tokens: WHOLE, total_tokens: WHOLE })

const CLASSIFIED: JsonSchema = record({
  model: TEXT,
  results: list(record({ index: WHOLE, labels: list(record({ label: TEXT, score: NUMBER })) })),
  usage: TOKENS,
})

const DETECT: JsonSchema = record(
  { model: TEXT, image: { ...TEXT, description: 'A data URI.' } },
  { threshold: { ...NUMBER, minimum: 0, maximum: 1, default: 0.5 }, ...CALL },
)

const DETECTED: JsonSchema = record({
  model: TEXT,
  objects: list(
    record({
      label: TEXT,
      score: NUMBER,
      box: record({ left: NUMBER, top: NUMBER, right: NUMBER, bottom: NUMBER }),
    }),
  ),
  usage: TOKENS,
})

const CAPTION: JsonSchema = record(
  { model: TEXT, image: { ...TEXT, description: 'A data URI.' } },
  {
    max_tokens: {
      ...WHOLE,
      minimum: 0,
      description:
        'Tokens to write at most; default: what the model’s folder says, then as many as it can hold.',
    },
    ...CALL,
  },
)

const CAPTIONED: JsonSchema = record({
  model: TEXT,
  text: TEXT,
  finish_reason: { enum: ['stop', 'length'] },
  usage: record({ prompt_tokens: WHOLE, completion_tokens: WHOLE, total_tokens: WHOLE }),
})

/** What models do that no dialect has words for. */
export const INFERENCE_DESCRIPTIONS: Descriptions = {
  'POST /api/yard/classify': {
    summary:
      'What texts or images are: labels with scores, the likeliest first. Needs a key for inference only.',
    body: CLASSIFY,
    answer: CLASSIFIED,
    errors: INFERENCE,
  },
  'POST /api/yard/detect': {
    summary: 'What is on an image and where, in pixels; the likeliest first. Needs a key for inference only.',
    body: DETECT,
    answer: DETECTED,
    errors: INFERENCE,
  },
  'POST /api/yard/caption': {
    summary: 'What is on an image, or written on it, as a text. Needs a key for inference only.',
    body: CAPTION,
    answer: CAPTIONED,
    errors: INFERENCE,
  },
}
