import { ModelyardError } from '../base/errors.ts'
import type { CaptioningTask } from './captioning-task.ts'
import type { ChatTask, OutputFormat } from './chat-task.ts'
import type { ClassificationTask } from './classification-task.ts'
import type { CompletionTask } from './completion-task.ts'
import type { DetectionTask } from './detection-task.ts'
import type { EmbeddingTask } from './embedding-task.ts'
import type { Message } from './message.ts'
import { IMAGE_FORMATS, imageFormatOf } from './image-format.ts'
import { LONGEST_IMAGE_PROMPT, type ImageTask } from './image-task.ts'
import type { RerankTask } from './rerank-task.ts'
import type { Sampling, TextGeneration } from './sampling.ts'
import { SOUND_FORMATS, soundFormatOf } from './sound-format.ts'
import { AUDIO_FORMATS, type SpeechTask } from './speech-task.ts'
import type { Task } from './task.ts'
import type { TranscriptionTask } from './transcription-task.ts'

/** Smallest and largest value of each sampling option; the ranges of the OpenAI API where it has the option. */
const RANGES: Partial<Record<keyof Sampling, [least: number, most: number]>> = {
  temperature: [0, 100],
  topP: [0, 1],
  topK: [0, 1_000_000],
  minP: [0, 1],
  seed: [0, 0xff_ff_ff_ff],
  presencePenalty: [-2, 2],
  frequencyPenalty: [-2, 2],
  repeatPenalty: [0.000_1, 100],
}
const WHOLE = new Set<keyof Sampling>(['topK', 'seed'])
const ROLES = new Set(['system', 'user', 'assistant', 'tool'])

function refuse(param: string, message: string): never {
  throw new ModelyardError('invalid_request', `${param}: ${message}`, { details: { param } })
}

function checkNumber(param: string, value: unknown, [least, most]: [number, number], whole: boolean): void {
  if (value === undefined) return
  if (
    typeof value !== 'number' ||
    !(value >= least && value <= most) ||
    (whole && !Number.isInteger(value))
  ) {
    refuse(
      param,
      `must be a ${whole ? 'whole number' : 'number'} from ${least} to ${most}, not ${typeof value === 'number' ? value : typeof value}.`,
    )
  }
}

function checkSampling(sampling: Sampling): void {
  for (const [name, range] of Object.entries(RANGES) as [keyof Sampling, [number, number]][]) {
    checkNumber(name, sampling[name], range, WHOLE.has(name))
  }
  for (const [token, bias] of Object.entries(sampling.logitBias ?? {})) {
    if (!/^\d+$/.test(token)) refuse('logitBias', `"${token}" is not a token id.`)
    checkNumber(`logitBias.${token}`, bias, [-100, 100], false)
  }
}

function checkGeneration(task: TextGeneration): void {
  checkSampling(task.sampling)
  checkNumber('maxTokens', task.maxTokens, [0, 2 ** 31], true)
  checkNumber('topLogprobs', task.topLogprobs, [0, 20], true)
  if (!Array.isArray(task.stop)) refuse('stop', 'must be a list of strings.')
  task.stop.forEach((stop, index) => {
    if (typeof stop !== 'string' || stop === '') refuse(`stop[${index}]`, 'must be a text that is not empty.')
  })
}

function checkMessage(message: Message, index: number): void {
  if (typeof message !== 'object' || message === null || !ROLES.has(message.role)) {
    refuse(`messages[${index}].role`, 'must be system, user, assistant or tool.')
  }
  if (typeof message.content !== 'string' && !Array.isArray(message.content)) {
    refuse(`messages[${index}].content`, 'must be a text or a list of parts.')
  }
}

function checkFormat(format: OutputFormat): void {
  const isGrammar = format?.type === 'grammar' && typeof format.grammar === 'string'
  const isSchema =
    format?.type === 'json-schema' && typeof format.schema === 'object' && format.schema !== null
  if (format?.type === 'json-object' || isGrammar || isSchema) return
  refuse('format', 'must be json-object, json-schema with a schema, or grammar with a text.')
}

function checkInputs({ inputs, dimensions }: EmbeddingTask): void {
  if (!Array.isArray(inputs) || inputs.length === 0) refuse('input', 'must hold at least one text or image.')
  inputs.forEach((input, index) => {
    const param = `input[${index}]`
    if (input instanceof Uint8Array) return checkPicture(input, param)
    const fine = typeof input === 'string' ? input !== '' : Array.isArray(input) && input.length > 0
    if (!fine) refuse(param, 'must be a text, a list of token ids or an image, and not empty.')
  })
  checkNumber('dimensions', dimensions, [1, 1_000_000], true)
}

function checkDocuments({ query, documents }: RerankTask): void {
  if (typeof query !== 'string' || query === '') refuse('query', 'must be a text that is not empty.')
  if (!Array.isArray(documents) || documents.length === 0) refuse('documents', 'must hold at least one text.')
  documents.forEach((document, index) => {
    if (typeof document !== 'string') refuse(`documents[${index}]`, 'must be a text.')
  })
}

function checkTranscription({ audio, language, prompt, temperature }: TranscriptionTask): void {
  if (!(audio instanceof Uint8Array)) refuse('audio', 'must be the bytes of a sound file.')
  if (audio.length === 0) refuse('audio', 'is empty.')
  if (soundFormatOf(audio) === undefined) refuse('audio', `must be ${SOUND_FORMATS}.`)
  if (language !== undefined && !/^[a-z]{2,3}$/.test(language))
    refuse('language', 'must be two letters, like "en".')
  if (prompt !== undefined && typeof prompt !== 'string') refuse('prompt', 'must be a text.')
  checkNumber('temperature', temperature, [0, 1], false)
}

function checkSpeech({ text, format, voice, speed }: SpeechTask): void {
  if (typeof text !== 'string' || text.trim() === '') refuse('text', 'must be a text that is not empty.')
  if (!AUDIO_FORMATS.includes(format)) refuse('format', `must be one of ${AUDIO_FORMATS.join(', ')}.`)
  if (voice !== undefined && typeof voice !== 'string') refuse('voice', 'must be a text.')
  checkNumber('speed', speed, [0.25, 4], false)
}

function checkImage(task: ImageTask): void {
  const { prompt, negativePrompt, count, steps, seed, guidance } = task
  if (typeof prompt !== 'string' || prompt === '') refuse('prompt', 'must be a text that is not empty.')
  checkImageText('prompt', prompt)
  if (negativePrompt !== undefined) checkImageText('negativePrompt', negativePrompt)
  checkImageSize(task)
  checkNumber('count', count, [1, 10], true)
  checkNumber('steps', steps, [1, 200], true)
  checkNumber('seed', seed, [0, 2 ** 32 - 1], true)
  checkNumber('guidance', guidance, [0, 100], false)
}

function checkImageText(param: string, text: string): void {
  if (typeof text !== 'string') refuse(param, 'must be a text.')
  if (text.length <= LONGEST_IMAGE_PROMPT) return
  refuse(param, `has ${text.length} characters; at most ${LONGEST_IMAGE_PROMPT} are taken.`)
}

function checkImageSize({ width, height }: ImageTask): void {
  if ((width === undefined) !== (height === undefined))
    refuse(width === undefined ? 'width' : 'height', 'is missing; give both width and height, or neither.')
  if (width === undefined || height === undefined) return
  const isRight = [width, height].every((side) => side >= 64 && side <= 4096 && side % 8 === 0)
  if (!isRight) refuse('size', `is ${width}x${height}; both sides must be multiples of 8 from 64 to 4096.`)
}

function checkClassification({ inputs, labels, hypothesis }: ClassificationTask): void {
  if (!Array.isArray(inputs) || inputs.length === 0) refuse('input', 'must hold at least one text or image.')
  inputs.forEach((input, index) => {
    if (input instanceof Uint8Array) checkPicture(input, `input[${index}]`)
    else if (typeof input !== 'string' || input === '')
      refuse(`input[${index}]`, 'must be a text or the bytes of an image, and not empty.')
  })
  if (labels !== undefined) checkLabels(labels, hypothesis)
}

function checkPicture(image: Uint8Array, param: string): void {
  if (!(image instanceof Uint8Array)) refuse(param, 'must be the bytes of an image file.')
  if (imageFormatOf(image) === undefined) refuse(param, `must be ${IMAGE_FORMATS}.`)
}

function checkDetection({ image, threshold }: DetectionTask): void {
  checkPicture(image, 'image')
  checkNumber('threshold', threshold, [0, 1], false)
}

function checkCaptioning({ image, maxTokens }: CaptioningTask): void {
  checkPicture(image, 'image')
  checkNumber('maxTokens', maxTokens, [0, 2 ** 31], true)
}

function checkLabels(labels: string[], hypothesis = '{}'): void {
  if (!Array.isArray(labels) || labels.length === 0) refuse('labels', 'must hold at least one text.')
  labels.forEach((label, index) => {
    if (typeof label !== 'string' || label.trim() === '')
      refuse(`labels[${index}]`, 'must be a text that is not empty.')
  })
  if (typeof hypothesis !== 'string' || !hypothesis.includes('{}'))
    refuse('hypothesis', 'must be a sentence with {} in the place of the label.')
}

/** Refuses a task that is wrong in itself, naming the field, before anything else happens. @throws ModelyardError `invalid_request` */
export function checkTask(task: Task): void {
  if (task.kind === 'chat' || task.kind === 'completion') checkText(task)
  else if (task.kind === 'embedding') checkInputs(task)
  else if (task.kind === 'rerank') checkDocuments(task)
  else if (task.kind === 'transcription') checkTranscription(task)
  else if (task.kind === 'speech') checkSpeech(task)
  else if (task.kind === 'classification') checkClassification(task)
  else if (task.kind === 'detection') checkDetection(task)
  else if (task.kind === 'captioning') checkCaptioning(task)
  else checkImage(task)
}

function checkText(task: ChatTask | CompletionTask): void {
  checkGeneration(task)
  if (task.kind !== 'chat') return
  if (!Array.isArray(task.messages) || task.messages.length === 0)
    refuse('messages', 'must hold at least one message.')
  task.messages.forEach(checkMessage)
  if (task.format !== undefined) checkFormat(task.format)
}
