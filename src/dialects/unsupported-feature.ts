import type { EngineCapabilities } from '../engines/engine.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { CompletionTask } from '../tasks/completion-task.ts'
import type { ContentPart } from '../tasks/message.ts'
import type { Task } from '../tasks/task.ts'

/** What a task needs and a model lacks. */
export interface UnsupportedFeature {
  /** The field that asks for it, in OpenAI's words; other dialects rename it. */
  param: string
  /** A noun for a sentence: `does not support …`. */
  feature: string
  /** Whether another model may have it (a 400), or whether it is the engine that cannot (a 501). */
  lacking: 'model' | 'engine'
}

function lacks(lacking: 'model' | 'engine', param: string, feature: string): UnsupportedFeature {
  return { param, feature, lacking }
}

/** The first thing the task needs that is not among the capabilities; undefined when all is there. Pure. */
export function unsupportedFeature(
  task: Task,
  capabilities: EngineCapabilities,
): UnsupportedFeature | undefined {
  if (!capabilities.tasks.includes(task.kind)) return lacks('model', 'model', KIND_NAMES[task.kind])
  if (task.kind === 'embedding') {
    const tokens = task.inputs.findIndex((input) => typeof input !== 'string')
    return tokens >= 0 && !capabilities.tokenInput ? lacks('model', 'input', TOKEN_INPUT) : undefined
  }
  return (
    (task.kind === 'chat' ? chatFeature(task, capabilities) : completionFeature(task, capabilities)) ??
    generationFeature(task, capabilities)
  )
}

/** BR-33: LangChain sends ids of another tokenizer unless told not to. */
const TOKEN_INPUT = 'token ids; send text (in LangChain: check_embedding_ctx_length=False)'

const KIND_NAMES: Record<Task['kind'], string> = {
  chat: 'chat',
  completion: 'text completion',
  embedding: 'embeddings',
}

function chatFeature(task: ChatTask, capabilities: EngineCapabilities): UnsupportedFeature | undefined {
  const media = mediaFeature(task, capabilities)
  if (media !== undefined) return media
  if (task.tools !== undefined && task.tools.length > 0 && !capabilities.tools) {
    return lacks('model', 'tools', 'tools')
  }
  if (task.reasoning?.enabled && !capabilities.reasoning)
    return lacks('model', 'reasoning_effort', 'reasoning')
  if (task.format?.type === 'grammar') {
    return capabilities.grammar ? undefined : lacks('engine', 'grammar', 'grammars')
  }
  if (task.format !== undefined && !capabilities.structuredOutput) {
    return lacks('engine', 'response_format', 'structured output')
  }
  if (task.messages.at(-1)?.role === 'assistant' && !capabilities.prefill) {
    return lacks('engine', `messages[${task.messages.length - 1}]`, 'continuing a last assistant message')
  }
  return undefined
}

function mediaFeature(task: ChatTask, capabilities: EngineCapabilities): UnsupportedFeature | undefined {
  for (const [index, { content }] of task.messages.entries()) {
    if (typeof content === 'string') continue
    const part = content.findIndex((candidate) => !mediaIsKnown(candidate, capabilities))
    if (part >= 0) {
      return lacks(
        'model',
        `messages[${index}].content[${part}]`,
        content[part]?.type === 'audio' ? 'audio' : 'images',
      )
    }
  }
  return undefined
}

function mediaIsKnown(part: ContentPart, capabilities: EngineCapabilities): boolean {
  if (part.type === 'text') return true
  return part.type === 'image' ? capabilities.images : capabilities.audio
}

function completionFeature(
  task: CompletionTask,
  capabilities: EngineCapabilities,
): UnsupportedFeature | undefined {
  if (typeof task.prompt !== 'string' && !capabilities.tokenInput) {
    return lacks('model', 'prompt', TOKEN_INPUT)
  }
  if (task.suffix !== undefined && !capabilities.infill) return lacks('model', 'suffix', 'infill')
  if (task.echo && !capabilities.echo) return lacks('engine', 'echo', 'echo')
  return undefined
}

function generationFeature(
  task: ChatTask | CompletionTask,
  capabilities: EngineCapabilities,
): UnsupportedFeature | undefined {
  if (task.topLogprobs !== undefined && !capabilities.logprobs) return lacks('engine', 'logprobs', 'logprobs')
  if (task.sampling.logitBias !== undefined && !capabilities.logitBias) {
    return lacks('engine', 'logit_bias', 'logit_bias')
  }
  return undefined
}
