import { ModelyardError } from '../../base/errors.ts'
import type { ModelDefaults } from '../../models/model-spec.ts'
import type { ChatTask, OutputFormat } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { ContentPart, Message, Tool, ToolChoice } from '../../tasks/message.ts'
import type { TextGeneration } from '../../tasks/sampling.ts'
import { writesText, type Task } from '../../tasks/task.ts'

/** What is undefined is not sent: zero and the empty text are. */
type Fields = Record<string, unknown>

/** A request in OpenAI's language: the path after the endpoint's beginning, and the body. */
export interface WireRequest {
  path: '/chat/completions' | '/completions' | '/embeddings'
  body: Fields
}

/** What the model's own settings add to each task. */
export interface WireSettings {
  remoteModel: string
  defaults: ModelDefaults
  /** Used where the task has no system message; absent or empty = nothing. */
  system?: string
}

/** Text is always asked for as a stream, so that a client that leaves is felt there at once. @throws ModelyardError `unsupported` */
export function wireRequest(task: Task, settings: WireSettings): WireRequest {
  const model = settings.remoteModel
  if (task.kind === 'embedding') return { path: '/embeddings', body: { model, ...embeddingFields(task) } }
  if (!writesText(task))
    throw new ModelyardError('unsupported', `Upstreams are not asked for ${task.kind} here.`)
  const common = {
    model,
    stream: true,
    stream_options: { include_usage: true },
    ...samplingFields(task, settings.defaults),
  }
  return task.kind === 'chat'
    ? { path: '/chat/completions', body: { ...common, ...chatFields(task, settings.system) } }
    : { path: '/completions', body: { ...common, ...completionFields(task) } }
}

function samplingFields({ sampling, maxTokens, stop }: TextGeneration, defaults: ModelDefaults): Fields {
  return {
    temperature: sampling.temperature ?? defaults.temperature,
    top_p: sampling.topP ?? defaults.topP,
    top_k: sampling.topK ?? defaults.topK,
    min_p: sampling.minP ?? defaults.minP,
    seed: sampling.seed ?? defaults.seed,
    presence_penalty: sampling.presencePenalty ?? defaults.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty ?? defaults.frequencyPenalty,
    repeat_penalty: sampling.repeatPenalty ?? defaults.repeatPenalty,
    logit_bias: sampling.logitBias,
    max_tokens: maxTokens ?? defaults.maxTokens,
    stop: stop.length === 0 ? undefined : stop,
  }
}

function chatFields(task: ChatTask, system: string | undefined): Fields {
  const { messages, tools, toolChoice, parallelToolCalls, format, topLogprobs, reasoning, templateOptions } =
    task
  const thinking = reasoning === undefined ? {} : { enable_thinking: reasoning.enabled }
  const options = { ...thinking, ...templateOptions }
  return {
    messages: withSystem(messages, system).map(wireMessage),
    tools: tools?.map(wireTool),
    tool_choice: tools === undefined ? undefined : wireChoice(toolChoice),
    parallel_tool_calls: tools === undefined ? undefined : parallelToolCalls,
    response_format: wireFormat(format),
    logprobs: topLogprobs === undefined ? undefined : true,
    top_logprobs: topLogprobs,
    chat_template_kwargs: Object.keys(options).length === 0 ? undefined : options,
  }
}

function withSystem(messages: readonly Message[], system: string | undefined): readonly Message[] {
  if (system === undefined || system === '' || messages.some(({ role }) => role === 'system')) return messages
  return [{ role: 'system', content: system }, ...messages]
}

function wireMessage(message: Message): Fields {
  const content = wireContent(message.content)
  if (message.role === 'tool') return { role: 'tool', content, tool_call_id: message.toolCallId }
  if (message.role !== 'assistant') return { ...message, content }
  const { reasoning, toolCalls } = message
  return {
    role: 'assistant',
    content: content === '' && toolCalls !== undefined ? null : content,
    reasoning_content: reasoning,
    tool_calls: toolCalls?.map(({ id, name, arguments: written }) => ({
      id,
      type: 'function',
      function: { name, arguments: written },
    })),
  }
}

function wireContent(content: string | readonly ContentPart[]): unknown {
  return typeof content === 'string' ? content : content.map(wirePart)
}

function wirePart(part: ContentPart): Fields {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const data = Buffer.from(part.data).toString('base64')
  return part.type === 'image'
    ? { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${data}` } }
    : { type: 'input_audio', input_audio: { data, format: part.format } }
}

function wireTool({ name, description, parameters, strict }: Tool): Fields {
  return { type: 'function', function: { name, description, parameters, strict } }
}

function wireChoice(choice: ToolChoice | undefined): unknown {
  return typeof choice === 'object' ? { type: 'function', function: choice } : choice
}

function wireFormat(format: OutputFormat | undefined): unknown {
  if (format === undefined || format.type === 'grammar') return undefined
  if (format.type === 'json-object') return { type: 'json_object' }
  const { name, schema, strict } = format
  return { type: 'json_schema', json_schema: { name, schema, strict } }
}

function completionFields({ prompt, suffix, echo }: CompletionTask): Fields {
  return { prompt, suffix, echo }
}

function embeddingFields({ inputs, dimensions }: EmbeddingTask): Fields {
  return { input: inputs, dimensions, encoding_format: 'float' }
}
