import { parseDuration } from '../base/durations.ts'
import { ModelyardError } from '../base/errors.ts'
import { isMap } from '../base/is-map.ts'
import { nearestNames } from '../base/nearest.ts'
import type { AskingRun } from '../engines/engine.ts'
import type { Priority } from '../pool/limits.ts'
import type { ChatTask, OutputFormat } from '../tasks/chat-task.ts'
import { checkTask } from '../tasks/check-task.ts'
import type { EmbeddingInput } from '../tasks/embedding-task.ts'
import { parseImageSize } from '../tasks/image-task.ts'
import type { Message, ToolChoice } from '../tasks/message.ts'
import type { Sampling, TextGeneration } from '../tasks/sampling.ts'
import type { AudioFormat } from '../tasks/speech-task.ts'
import type { Task } from '../tasks/task.ts'
import type { RunRequest } from './run.ts'
import type { HandledTool } from './tool-handler.ts'

/** What every library call may carry. */
export interface CallOptions {
  /** Id or alias of the model. */
  model: string
  /** Ends the call; text calls end with what was produced and `finishReason: "abort"`. */
  signal?: AbortSignal
  /** Most time for the whole call: seconds, or a duration such as `"30s"`. */
  timeout?: number | string
  /** Default `normal`. */
  priority?: Priority
  /** How long the model stays in memory after this call: seconds or a duration; 0 = unload at once, −1 = for ever. */
  keepAlive?: number | string
  /** What an engine of one's own got with its run: it goes before all others and takes no place of its own (P14). */
  within?: AskingRun
  /** `none`: starts from nothing, and nothing of it is kept for later requests, in memory or on disk. */
  cache?: 'none'
  /** Tokens its slot holds at least: a copy with fewer goes when its runs have ended, and a larger one is loaded. */
  context?: number
}

/** Sampling and limits of text calls. Zero is a value: `temperature: 0` is greedy, `maxTokens: 0` generates nothing. */
export interface GenerationOptions extends Sampling {
  maxTokens?: number
  stop?: string | string[]
  topLogprobs?: number
}

export interface ChatRequest extends CallOptions, GenerationOptions {
  /** Oldest first. A last assistant message is continued. */
  messages: Message[]
  /** Tools with a `handler` are called, and their results told the model. */
  tools?: HandledTool[]
  /** Rounds of calls that handlers answer before calls are returned. Default 8; 0 = none. */
  maxToolRounds?: number
  toolChoice?: ToolChoice
  parallelToolCalls?: boolean
  format?: OutputFormat
  reasoning?: { enabled: boolean; budget?: number }
  templateOptions?: Record<string, unknown>
}

export interface CompletionRequest extends CallOptions, GenerationOptions {
  prompt: string | number[]
  suffix?: string
  echo?: boolean
}

/** A beginning to be evaluated ahead: of conversations (`messages`, `tools`), or of prompts. */
export interface WarmRequest extends Omit<CallOptions, 'cache'> {
  messages?: Message[]
  tools?: HandledTool[]
  prompt?: string
}

export interface RerankRequest extends CallOptions {
  query: string
  documents: string[]
}

/** A text, or the bytes of a whole image file (PNG, JPEG, WebP, GIF, AVIF or TIFF) for models that embed images. */
export type EmbeddedInput = string | Uint8Array | { text: string } | { image: Uint8Array }

export interface EmbeddingRequest extends CallOptions {
  /** One input or many; the answer has one vector for each, in order. */
  input: EmbeddedInput | EmbeddedInput[]
  dimensions?: number
}

export interface ClassificationRequest extends CallOptions {
  /** Texts, or bytes of whole image files (PNG, JPEG, WebP, GIF, AVIF or TIFF); one or many. */
  input: string | Uint8Array | (string | Uint8Array)[]
  /** Labels of your own (zero-shot): for texts and models that judge what follows from them, for images and CLIP. Default: those the model was trained for. */
  labels?: string[]
  /** With `labels`: the sentence they are judged in, with `{}` for the label. Default `This example is {}.`, of images `This is a photo of {}.` */
  hypothesis?: string
  /** With `labels`: several may be right. Default false: their scores sum to 1. */
  multiple?: boolean
}

export interface DetectionRequest extends CallOptions {
  /** Bytes of a whole image file: PNG, JPEG, WebP, GIF, AVIF or TIFF. */
  image: Uint8Array
  /** 0…1: only what is as likely as this. Default 0.5. */
  threshold?: number
}

export interface CaptioningRequest extends CallOptions {
  /** Bytes of a whole image file: PNG, JPEG, WebP, GIF, AVIF or TIFF. */
  image: Uint8Array
  /** Default: what the model's folder says, then as many as it can hold. 0 writes nothing. */
  maxTokens?: number
}

export interface TranscriptionRequest extends CallOptions {
  /** Bytes of a whole sound file: WAV, FLAC, MP3, OGG, WebM or M4A. */
  audio: Uint8Array
  /** Two letters; absent = the model judges it itself. */
  language?: string
  /** The text comes in English, whatever is spoken. */
  translate?: boolean
  /** Text that came before: names and words in it are preferred. */
  prompt?: string
  /** 0…1 */
  temperature?: number
}

export interface SpeechRequest extends CallOptions {
  text: string
  /** Default `wav`. */
  format?: AudioFormat
  /** Number or name of one of the model's speakers. */
  voice?: string
  /** 0.25…4; default 1 */
  speed?: number
}

export interface ImageRequest extends CallOptions {
  /** What is to be seen: at most 32,000 characters. */
  prompt: string
  /** What is not. */
  negativePrompt?: string
  /** `WIDTHxHEIGHT` in pixels; default: the model's own. */
  size?: string
  /** 1…10; default 1. They are made one after the other. */
  count?: number
  /** More take longer; default: the model's own. */
  steps?: number
  /** 32-bit unsigned: the same one makes the same picture again; default: another one each time. */
  seed?: number
  /** How strictly the text is followed, 0…100; default: the model's own. */
  guidance?: number
}

const CALL_KEYS = ['model', 'signal', 'timeout', 'priority', 'keepAlive', 'within', 'cache', 'context']
const SAMPLING_KEYS = [
  'temperature',
  'topP',
  'topK',
  'minP',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'repeatPenalty',
  'logitBias',
] as const
const GENERATION_KEYS = [...CALL_KEYS, ...SAMPLING_KEYS, 'maxTokens', 'stop', 'topLogprobs']
const CHAT_KEYS = [
  'messages',
  'tools',
  'toolChoice',
  'parallelToolCalls',
  'format',
  'reasoning',
  'templateOptions',
] as const

/** A mistyped option is an error with the name that was meant, never ignored. */
function refuseUnknownKeys(request: object, known: readonly string[]): void {
  const wrong = Object.keys(request).find((key) => !known.includes(key))
  if (wrong === undefined) return
  const [nearest] = nearestNames(wrong, known)
  const hint = nearest === undefined ? `Known are: ${known.join(', ')}.` : `Did you mean "${nearest}"?`
  throw new ModelyardError('invalid_request', `"${wrong}" is not an option of this call. ${hint}`, {
    details: { param: wrong },
  })
}

function pick<From extends object, Key extends keyof From>(
  from: From,
  keys: readonly Key[],
): Pick<From, Key> {
  const present = keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]])
  return Object.fromEntries(present) as Pick<From, Key>
}

function generationOf(request: GenerationOptions): TextGeneration {
  const stop = request.stop ?? []
  return {
    sampling: pick(request, SAMPLING_KEYS),
    stop: typeof stop === 'string' ? [stop] : stop,
    ...pick(request, ['maxTokens', 'topLogprobs']),
  }
}

function runRequest(call: CallOptions, task: Task): RunRequest {
  if (typeof call.model !== 'string' || call.model === '') {
    throw new ModelyardError('invalid_request', 'model: must name a model.', { details: { param: 'model' } })
  }
  checkTask(task)
  return {
    model: call.model,
    task,
    ...pick(call, ['signal', 'priority', 'within', 'cache']),
    ...(call.timeout === undefined ? {} : { timeout: parseDuration(call.timeout) }),
    ...(call.keepAlive === undefined ? {} : { keepAlive: parseDuration(call.keepAlive) }),
    ...(call.context === undefined ? {} : { wish: { context: requireTokens(call.context) } }),
  }
}

function requireTokens(context: number): number {
  if (Number.isInteger(context) && context > 0) return context
  const message = `context: must be a whole number of tokens from 1 up, not ${context}.`
  throw new ModelyardError('invalid_request', message, { details: { param: 'context' } })
}

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function chatRun(request: ChatRequest): RunRequest & { task: ChatTask } {
  refuseUnknownKeys(request, [...GENERATION_KEYS, ...CHAT_KEYS, 'maxToolRounds'])
  checkTools(request)
  const { tools, ...own } = pick(request, CHAT_KEYS)
  const task: ChatTask = {
    kind: 'chat',
    ...generationOf(request),
    ...own,
    // Handlers stay here: a task goes to other processes.
    ...(tools !== undefined && { tools: tools.map(({ handler: _, ...tool }) => tool) }),
  }
  return { ...runRequest(request, task), task }
}

function checkTools({ tools = [], maxToolRounds = 0 }: ChatRequest): void {
  if (!Number.isInteger(maxToolRounds) || maxToolRounds < 0) {
    const message = `maxToolRounds: must be a whole number from 0, not ${String(maxToolRounds)}.`
    throw new ModelyardError('invalid_request', message, { details: { param: 'maxToolRounds' } })
  }
  if (!Array.isArray(tools)) refuseTools('tools', 'must be a list.')
  tools.forEach(({ name, handler }, index) => {
    if (typeof name !== 'string' || name === '') refuseTools(`tools[${index}].name`, 'must name the tool.')
    if (handler !== undefined && typeof handler !== 'function')
      refuseTools(`tools[${index}].handler`, 'must be a function.')
  })
}

function refuseTools(param: string, problem: string): never {
  throw new ModelyardError('invalid_request', `${param}: ${problem}`, { details: { param } })
}

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function completionRun(request: CompletionRequest): RunRequest {
  refuseUnknownKeys(request, [...GENERATION_KEYS, 'prompt', 'suffix', 'echo'])
  const own = pick(request, ['prompt', 'suffix', 'echo'])
  return runRequest(request, { kind: 'completion', ...generationOf(request), ...own })
}

/** One token is generated, for the prompt is evaluated then. @throws ModelyardError `invalid_request` naming the option that is wrong */
export function warmRun(request: WarmRequest): RunRequest {
  const { messages, tools, prompt, ...call } = request
  refuseUnknownKeys(request, [...CALL_KEYS, 'messages', 'tools', 'prompt'])
  if ((messages === undefined) === (prompt === undefined)) {
    const message = 'messages: give either messages (with tools, if any) or a prompt.'
    throw new ModelyardError('invalid_request', message, { details: { param: 'messages' } })
  }
  const greedy = { ...call, maxTokens: 1, temperature: 0 }
  if (prompt !== undefined) return { ...completionRun({ ...greedy, prompt }), keep: true }
  const more = tools === undefined ? {} : { tools }
  return { ...chatRun({ ...greedy, messages: messages ?? [], ...more }), keep: true }
}

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function rerankRun(request: RerankRequest): RunRequest {
  refuseUnknownKeys(request, [...CALL_KEYS, 'query', 'documents'])
  const { query, documents } = request
  return runRequest(request, { kind: 'rerank', query, documents })
}

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function embeddingRun(request: EmbeddingRequest): RunRequest {
  refuseUnknownKeys(request, [...CALL_KEYS, 'input', 'dimensions'])
  const inputs = Array.isArray(request.input) ? request.input : [request.input]
  return runRequest(request, {
    kind: 'embedding',
    inputs: inputs.map(embeddedInput),
    ...pick(request, ['dimensions']),
  })
}

function embeddedInput(input: EmbeddedInput, index: number): EmbeddingInput {
  if (!isMap(input) || input instanceof Uint8Array) return input
  const { text, image } = input as { text?: string; image?: Uint8Array }
  const known = Object.keys(input).length === 1 ? (text ?? image) : undefined
  if (known !== undefined) return known
  throw new ModelyardError('invalid_request', `input[${index}]: must be a text, {text} or {image}.`, {
    details: { param: `input[${index}]` },
  })
}

const CLASSIFICATION_KEYS = ['labels', 'hypothesis', 'multiple'] as const

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function classificationRun(request: ClassificationRequest): RunRequest {
  refuseUnknownKeys(request, [...CALL_KEYS, 'input', ...CLASSIFICATION_KEYS])
  const inputs = Array.isArray(request.input) ? request.input : [request.input]
  return runRequest(request, { kind: 'classification', inputs, ...pick(request, CLASSIFICATION_KEYS) })
}

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function detectionRun(request: DetectionRequest): RunRequest {
  refuseUnknownKeys(request, [...CALL_KEYS, 'image', 'threshold'])
  const { image } = request
  return runRequest(request, { kind: 'detection', image, ...pick(request, ['threshold']) })
}

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function captioningRun(request: CaptioningRequest): RunRequest {
  refuseUnknownKeys(request, [...CALL_KEYS, 'image', 'maxTokens'])
  const { image } = request
  return runRequest(request, { kind: 'captioning', image, ...pick(request, ['maxTokens']) })
}

const TRANSCRIPTION_KEYS = ['language', 'translate', 'prompt', 'temperature'] as const

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function transcriptionRun(request: TranscriptionRequest): RunRequest {
  refuseUnknownKeys(request, [...CALL_KEYS, 'audio', ...TRANSCRIPTION_KEYS])
  const { audio } = request
  return runRequest(request, { kind: 'transcription', audio, ...pick(request, TRANSCRIPTION_KEYS) })
}

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function speechRun(request: SpeechRequest): RunRequest {
  refuseUnknownKeys(request, [...CALL_KEYS, 'text', 'format', 'voice', 'speed'])
  const { text, format = 'wav' } = request
  return runRequest(request, { kind: 'speech', text, format, ...pick(request, ['voice', 'speed']) })
}

const IMAGE_KEYS = ['prompt', 'negativePrompt', 'steps', 'seed', 'guidance'] as const

/** @throws ModelyardError `invalid_request` naming the option that is wrong */
export function imageRun(request: ImageRequest): RunRequest {
  refuseUnknownKeys(request, [...CALL_KEYS, ...IMAGE_KEYS, 'size', 'count'])
  const { count = 1, size } = request
  return runRequest(request, {
    kind: 'image',
    count,
    ...pick(request, IMAGE_KEYS),
    prompt: request.prompt,
    ...(size !== undefined && requireImageSize(size)),
  })
}

function requireImageSize(size: string): { width: number; height: number } {
  const read = typeof size === 'string' ? parseImageSize(size) : undefined
  if (read !== undefined) return read
  throw new ModelyardError('invalid_request', 'size: must be WIDTHxHEIGHT in pixels, such as "512x512".', {
    details: { param: 'size' },
  })
}
