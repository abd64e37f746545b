import { decodeImage } from '../dialects/decode-image.ts'
import { decodeModel } from '../dialects/decode-model.ts'
import type { DialectRequest, RunAction } from '../dialects/dialect.ts'
import { decodeExtensions } from '../dialects/extensions.ts'
import {
  asArray,
  asString,
  invalidField,
  optionalArray,
  optionalBoolean,
  optionalNumber,
  optionalString,
  type Fields,
} from '../dialects/fields.ts'
import type { Label } from '../runs/collect-values.ts'
import type { ClassificationTask } from '../tasks/classification-task.ts'
import type { Part } from '../tasks/part.ts'
import { describedBody } from './described-request.ts'
import { WholeAnswer } from './whole-answer.ts'

const MOST_TEXTS = 1000
const MOST_IMAGES = 64
const MOST_LABELS = 100

/** `POST /api/yard/classify` @throws ModelyardError `invalid_request` naming the field */
export function decodeClassify({ body, headers }: DialectRequest): RunAction {
  const fields = describedBody('POST /api/yard/classify', body)
  const model = decodeModel(fields)
  const top = optionalNumber(fields, 'top', { least: 1, integer: true })
  const options = decodeExtensions(fields, headers)
  const own = ownLabels(fields)
  const inputs = inputsOf(fields)
  return {
    type: 'run',
    model,
    tasks: [{ kind: 'classification', inputs, ...own }],
    options,
    encoder: classification(model, inputs.length, top),
    featureFields: { task: 'model', images: 'image', 'zero-shot': 'labels' },
    nameField: (param) => imageField(param, fields['image']),
  }
}

function ownLabels(fields: Fields): Pick<ClassificationTask, 'labels' | 'hypothesis' | 'multiple'> {
  const labels = optionalArray(fields, 'labels')?.map((label, index) => {
    const text = asString(label, `labels[${index}]`)
    if (text.trim() === '') throw invalidField(`labels[${index}]`, `'labels[${index}]' is empty.`)
    return text
  })
  const hypothesis = optionalString(fields, 'hypothesis')
  const multiple = optionalBoolean(fields, 'multiple')
  if (hypothesis?.includes('{}') === false)
    throw invalidField('hypothesis', "'hypothesis' must have {} in the place of the label.")
  if (labels !== undefined) requireCount('labels', labels.length, MOST_LABELS)
  return {
    ...(labels !== undefined && { labels }),
    ...(hypothesis !== undefined && { hypothesis }),
    ...(multiple !== undefined && { multiple }),
  }
}

function inputsOf(fields: Fields): (string | Uint8Array)[] {
  const { input, image } = fields
  const isText = input !== undefined && input !== null
  const isImage = image !== undefined && image !== null
  if (isText && isImage) throw invalidField('image', "Send 'input' (texts) or 'image', not both.")
  if (isImage) return listOf(image, 'image', MOST_IMAGES, decodeImage)
  if (!isText)
    throw invalidField('input', "'input' is missing; send a text or a list of texts, or an 'image'.")
  return listOf(input, 'input', MOST_TEXTS, (text, param) => {
    if (text === '') throw invalidField(param, `'${param}' is an empty string.`)
    return text
  })
}

/** A task's inputs, where they are images: `input[0]` is `image` here, or `image[0]` of a list. */
function imageField(param: string, image: unknown): string {
  if (image === undefined || image === null || !param.startsWith('input')) return param
  return param
    .replace(/^input(?=\[)/, 'image')
    .replace(/\[\d+\]$/, (place) => (Array.isArray(image) ? place : ''))
}

/** One text, or a list of them. */
function listOf<Input>(
  value: unknown,
  name: string,
  most: number,
  decode: (text: string, param: string) => Input,
): Input[] {
  if (typeof value === 'string') return [decode(value, name)]
  const list = asArray(value, name)
  requireCount(name, list.length, most)
  return list.map((entry, index) => decode(asString(entry, `${name}[${index}]`), `${name}[${index}]`))
}

function requireCount(name: string, count: number, most: number): void {
  if (count >= 1 && count <= most) return
  throw invalidField(name, `'${name}' has ${count} entries; 1 to ${most} are allowed.`)
}

function classification(model: string, count: number, top: number | undefined): WholeAnswer {
  const results: Label[][] = Array.from({ length: count }, () => [])
  const take = (part: Part): void => {
    if (part.type === 'label') results[part.index]?.push({ label: part.label, score: part.score })
  }
  return new WholeAnswer(take, () => ({
    model,
    results: results.map((labels, index) => ({ index, labels: labels.slice(0, top) })),
  }))
}
