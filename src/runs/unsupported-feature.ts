import { ModelyardError } from '../base/errors.ts'
import type { EngineCapabilities } from '../engines/engine.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { ClassificationTask } from '../tasks/classification-task.ts'
import type { CompletionTask } from '../tasks/completion-task.ts'
import type { EmbeddingTask } from '../tasks/embedding-task.ts'
import type { ContentPart } from '../tasks/message.ts'
import type { Task, TaskKind } from '../tasks/task.ts'
import type { PreparedModel } from './prepared-model.ts'

/** Something a task needs that an engine may lack. Dialects map it to the name of their own field. */
export type Feature =
  | 'task'
  | 'tools'
  | 'structured-output'
  | 'grammar'
  | 'logprobs'
  | 'reasoning'
  | 'images'
  | 'audio'
  | 'prefill'
  | 'infill'
  | 'token-input'
  | 'echo'
  | 'prompt-logprobs'
  | 'logit-bias'
  | 'zero-shot'

/** Tasks that no other server's API has a route for, and where they are asked. */
const OWN_ROUTES: Partial<Record<TaskKind, string>> = {
  classification: 'POST /api/yard/classify',
  detection: 'POST /api/yard/detect',
  captioning: 'POST /api/yard/caption',
}

/** What a kind of task may need, the capability that it takes, and whether a task needs it: asked only where that is missing. */
type Need<Of extends Task> = readonly [
  feature: Feature,
  capability: Exclude<keyof EngineCapabilities, 'tasks'>,
  isNeeded: (task: Of) => boolean,
]

const GENERATION: readonly Need<ChatTask | CompletionTask>[] = [
  ['logprobs', 'logprobs', ({ topLogprobs }) => topLogprobs !== undefined],
  ['logit-bias', 'logitBias', ({ sampling }) => Object.keys(sampling.logitBias ?? {}).length > 0],
]

const CHAT: readonly Need<ChatTask>[] = [
  ['tools', 'tools', ({ tools = [], toolChoice }) => tools.length > 0 && toolChoice !== 'none'],
  [
    'structured-output',
    'structuredOutput',
    ({ format }) => format !== undefined && format.type !== 'grammar',
  ],
  ['grammar', 'grammar', ({ format }) => format?.type === 'grammar'],
  ['reasoning', 'reasoning', ({ reasoning }) => reasoning?.enabled === true],
  ['images', 'images', (task) => hasPart(task, 'image')],
  ['audio', 'audio', (task) => hasPart(task, 'audio')],
  ['prefill', 'prefill', ({ messages }) => messages.at(-1)?.role === 'assistant'],
  ...GENERATION,
]

const COMPLETION: readonly Need<CompletionTask>[] = [
  ['infill', 'infill', ({ suffix = '' }) => suffix !== ''],
  ['echo', 'echo', ({ echo }) => echo === true],
  [
    'prompt-logprobs',
    'promptLogprobs',
    ({ echo, topLogprobs }) => echo === true && topLogprobs !== undefined,
  ],
  ['token-input', 'tokenInput', ({ prompt }) => typeof prompt !== 'string'],
  ...GENERATION,
]

const EMBEDDING: readonly Need<EmbeddingTask>[] = [
  ['token-input', 'tokenInput', ({ inputs }) => inputs.some((input) => Array.isArray(input))],
  ['images', 'imageEmbedding', ({ inputs }) => inputs.some((input) => input instanceof Uint8Array)],
]

const CLASSIFICATION: readonly Need<ClassificationTask>[] = [
  ['images', 'images', ({ inputs }) => inputs.some((input) => typeof input !== 'string')],
  ['zero-shot', 'zeroShot', ({ labels }) => labels !== undefined],
]

function hasPart({ messages }: ChatTask, type: ContentPart['type']): boolean {
  return messages.some(
    ({ content }) => typeof content !== 'string' && content.some((part) => part.type === type),
  )
}

function firstMissing<Of extends Task>(
  task: Of,
  can: EngineCapabilities,
  needs: readonly Need<Of>[],
): Feature | undefined {
  for (const [feature, capability, isNeeded] of needs) if (!can[capability] && isNeeded(task)) return feature
  return undefined
}

/** For whoever asked a model for what it is not for: `captioning (POST /api/yard/caption)`. */
function describeTasks({ tasks }: EngineCapabilities): string {
  const described = tasks.map((kind) => {
    const route = OWN_ROUTES[kind]
    return route === undefined ? kind : `${kind} (${route})`
  })
  return described.join(', ')
}

/** Pure; asked before anything is loaded. @throws ModelyardError `unsupported` naming the first thing that the task needs and the model's engine lacks */
export function requireSupported(task: Task, { id, capabilities }: PreparedModel): void {
  const feature = unsupportedFeature(task, capabilities)
  if (feature === undefined) return
  const what =
    feature === 'task'
      ? `${task.kind} tasks here; it does ${describeTasks(capabilities)}`
      : `${feature.replace('-', ' ')} here`
  const message = `The model "${id}" does not support ${what}.`
  throw new ModelyardError('unsupported', message, { details: { feature, model: id } })
}

/** The first thing the task needs and the engine lacks; undefined when all is there. */
export function unsupportedFeature(task: Task, can: EngineCapabilities): Feature | undefined {
  if (!can.tasks.includes(task.kind)) return 'task'
  if (task.kind === 'chat') return firstMissing(task, can, CHAT)
  if (task.kind === 'completion') return firstMissing(task, can, COMPLETION)
  if (task.kind === 'classification') return firstMissing(task, can, CLASSIFICATION)
  return task.kind === 'embedding' ? firstMissing(task, can, EMBEDDING) : undefined
}
