import type { EngineCapabilities } from '../engines/engine.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { ClassificationTask } from '../tasks/classification-task.ts'
import type { CompletionTask } from '../tasks/completion-task.ts'
import type { EmbeddingTask } from '../tasks/embedding-task.ts'
import type { ContentPart } from '../tasks/message.ts'
import type { Task, TaskKind } from '../tasks/task.ts'

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

type Need = [feature: Feature, needed: boolean, has: boolean]

function generationNeeds(task: ChatTask | CompletionTask, can: EngineCapabilities): Need[] {
  return [
    ['logprobs', task.topLogprobs !== undefined, can.logprobs],
    ['logit-bias', Object.keys(task.sampling.logitBias ?? {}).length > 0, can.logitBias],
  ]
}

function chatNeeds(task: ChatTask, can: EngineCapabilities): Need[] {
  const parts: ContentPart[] = task.messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content,
  )
  const offered = (task.tools?.length ?? 0) > 0 && task.toolChoice !== 'none'
  return [
    ['tools', offered, can.tools],
    ['structured-output', task.format !== undefined && task.format.type !== 'grammar', can.structuredOutput],
    ['grammar', task.format?.type === 'grammar', can.grammar],
    ['reasoning', task.reasoning?.enabled === true, can.reasoning],
    ['images', parts.some(({ type }) => type === 'image'), can.images],
    ['audio', parts.some(({ type }) => type === 'audio'), can.audio],
    ['prefill', task.messages.at(-1)?.role === 'assistant', can.prefill],
    ...generationNeeds(task, can),
  ]
}

function completionNeeds(task: CompletionTask, can: EngineCapabilities): Need[] {
  return [
    ['infill', task.suffix !== undefined && task.suffix !== '', can.infill],
    ['echo', task.echo === true, can.echo],
    ['prompt-logprobs', task.echo === true && task.topLogprobs !== undefined, can.promptLogprobs],
    ['token-input', typeof task.prompt !== 'string', can.tokenInput],
    ...generationNeeds(task, can),
  ]
}

function embeddingNeeds(task: EmbeddingTask, can: EngineCapabilities): Need[] {
  return [
    ['token-input', task.inputs.some((input) => Array.isArray(input)), can.tokenInput],
    ['images', task.inputs.some((input) => input instanceof Uint8Array), can.imageEmbedding],
  ]
}

function classificationNeeds({ inputs, labels }: ClassificationTask, can: EngineCapabilities): Need[] {
  return [
    ['images', inputs.some((input) => typeof input !== 'string'), can.images],
    ['zero-shot', labels !== undefined, can.zeroShot],
  ]
}

function needsOf(task: Task, can: EngineCapabilities): Need[] {
  if (task.kind === 'chat') return chatNeeds(task, can)
  if (task.kind === 'completion') return completionNeeds(task, can)
  if (task.kind === 'classification') return classificationNeeds(task, can)
  return task.kind === 'embedding' ? embeddingNeeds(task, can) : []
}

/** For whoever asked a model for what it is not for: `captioning (POST /api/yard/caption)`. */
export function describeTasks({ tasks }: EngineCapabilities): string {
  const described = tasks.map((kind) => {
    const route = OWN_ROUTES[kind]
    return route === undefined ? kind : `${kind} (${route})`
  })
  return described.join(', ')
}

/** The first thing the task needs and the engine lacks; undefined when all is there. Pure; asked before anything is loaded. */
export function unsupportedFeature(task: Task, can: EngineCapabilities): Feature | undefined {
  if (!can.tasks.includes(task.kind)) return 'task'
  return needsOf(task, can).find(([, needed, has]) => needed && !has)?.[0]
}
