import { LONGEST_IMAGE_PROMPT, parseImageSize, type ImageTask } from '../../../tasks/image-task.ts'
import { decodeBody, decodeModel } from '../../decode-model.ts'
import type { DialectRequest, RunAction } from '../../dialect.ts'
import { decodeExtensions } from '../../extensions.ts'
import { asString, invalidField, optionalNumber, optionalString, type Fields } from '../../fields.ts'
import { refuseUnsupported } from '../../parameter-table.ts'
import { IMAGE_PARAMETERS } from '../parameters.ts'
import { ImageAnswer } from './encode-images.ts'

/** `POST /v1/images/generations`; ours are `seed`, `steps`, `cfg_scale` and `negative_prompt`. */
export function decodeImageGeneration({ body: sent, headers, created }: DialectRequest): RunAction {
  const body = decodeBody(sent)
  const model = decodeModel(body)
  refuseUnsupported(body, IMAGE_PARAMETERS)
  const task = taskOf(body)
  return {
    type: 'run',
    model,
    tasks: [task],
    options: decodeExtensions(body, headers),
    encoder: new ImageAnswer(created, task.count),
    featureFields: { task: 'model' },
  }
}

function taskOf(body: Fields): ImageTask {
  const prompt = decodeText(asString(body['prompt'], 'prompt'), 'prompt')
  if (prompt === '') throw invalidField('prompt', `'prompt' is empty.`)
  const negativePrompt = optionalString(body, 'negative_prompt')
  const steps = optionalNumber(body, 'steps', { least: 1, most: 200, integer: true })
  const guidance = optionalNumber(body, 'cfg_scale', { least: 0, most: 100 })
  // No number stands for another one each time: that is what leaving it out is for.
  const seed = optionalNumber(body, 'seed', { least: 0, most: 2 ** 32 - 1, integer: true })
  return {
    kind: 'image',
    prompt,
    ...(negativePrompt !== undefined && { negativePrompt: decodeText(negativePrompt, 'negative_prompt') }),
    ...sizeOf(body),
    count: optionalNumber(body, 'n', { least: 1, most: 10, integer: true }) ?? 1,
    ...(steps !== undefined && { steps }),
    ...(seed !== undefined && { seed }),
    ...(guidance !== undefined && { guidance }),
  }
}

function decodeText(text: string, param: string): string {
  if (text.length <= LONGEST_IMAGE_PROMPT) return text
  const message = `'${param}' has ${text.length} characters; at most ${LONGEST_IMAGE_PROMPT} are allowed.`
  throw invalidField(param, message)
}

/** `auto` is the model's own. */
function sizeOf(body: Fields): Pick<ImageTask, 'width' | 'height'> {
  const asked = optionalString(body, 'size') ?? 'auto'
  if (asked === 'auto') return {}
  const size = parseImageSize(asked)
  if (size === undefined) throw invalidField('size', `'size' must be 'auto', or WIDTHxHEIGHT in pixels.`)
  for (const side of [size.width, size.height]) {
    if (side >= 64 && side <= 4096 && side % 8 === 0) continue
    throw invalidField('size', `'size' is ${asked}; both sides must be multiples of 8 from 64 to 4096.`)
  }
  return size
}
