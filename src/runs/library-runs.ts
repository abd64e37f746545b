import { ModelyardError } from '../base/errors.ts'
import { isMap } from '../base/is-map.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { EmbeddingInput } from '../tasks/embedding-task.ts'
import { parseImageSize } from '../tasks/image-task.ts'
import type { TextGeneration } from '../tasks/sampling.ts'
import { CALL_KEYS, pick, refuseUnknownKeys, runRequest } from './library-call.ts'
import type {
  CaptioningRequest,
  ChatRequest,
  ClassificationRequest,
  CompletionRequest,
  DetectionRequest,
  EmbeddedInput,
  EmbeddingRequest,
  GenerationOptions,
  ImageRequest,
  RerankRequest,
  SpeechRequest,
  TranscriptionRequest,
  WarmRequest,
} from './library-request.ts'
import type { RunRequest } from './run.ts'

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

function generationOf(request: GenerationOptions): TextGeneration {
  const stop = request.stop ?? []
  return {
    sampling: pick(request, SAMPLING_KEYS),
    stop: typeof stop === 'string' ? [stop] : stop,
    ...pick(request, ['maxTokens', 'topLogprobs']),
  }
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
