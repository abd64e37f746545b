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
  /** The endpoint continues a last assistant message when it is told to. Default false: by itself, or not at all. */
  marksContinuation?: boolean
  /** Text is asked for in one piece instead of as a stream. Default false. */
  isWhole?: boolean
}

/** @throws ModelyardError `unsupported` */
export function wireRequest(task: Task, settings: WireSettings): WireRequest {
  const body: Fields = { model: settings.remoteModel }
  if (task.kind === 'embedding') {
    addEmbedding(body, task)
    return { path: '/embeddings', body }
  }
  if (!writesText(task))
    throw new ModelyardError('unsupported', `Upstreams are not asked for ${task.kind} here.`)
  const { isWhole = false } = settings
  body['stream'] = !isWhole
  if (!isWhole) body['stream_options'] = { include_usage: true }
  addSampling(body, task, settings.defaults)
  if (task.kind === 'chat') {
    addChat(body, task, settings)
    return { path: '/chat/completions', body }
  }
  addCompletion(body, task)
  return { path: '/completions', body }
}

function addSampling(
  body: Fields,
  { sampling, maxTokens, stop }: TextGeneration,
  defaults: ModelDefaults,
): void {
  add(body, 'temperature', sampling.temperature ?? defaults.temperature)
  add(body, 'top_p', sampling.topP ?? defaults.topP)
  add(body, 'top_k', sampling.topK ?? defaults.topK)
  add(body, 'min_p', sampling.minP ?? defaults.minP)
  add(body, 'seed', sampling.seed ?? defaults.seed)
  add(body, 'presence_penalty', sampling.presencePenalty ?? defaults.presencePenalty)
  add(body, 'frequency_penalty', sampling.frequencyPenalty ?? defaults.frequencyPenalty)
  add(body, 'repeat_penalty', sampling.repeatPenalty ?? defaults.repeatPenalty)
  add(body, 'logit_bias', sampling.logitBias)
  add(body, 'max_tokens', maxTokens ?? defaults.maxTokens)
  if (stop.length > 0) body['stop'] = stop
}

function addChat(body: Fields, task: ChatTask, { system, marksContinuation }: WireSettings): void {
  const { messages, tools, toolChoice, parallelToolCalls, format, topLogprobs } = task
  body['messages'] = withSystem(messages, system).map(wireMessage)
  if (tools !== undefined) {
    body['tools'] = tools.map(wireTool)
    add(body, 'tool_choice', wireChoice(toolChoice))
    add(body, 'parallel_tool_calls', parallelToolCalls)
  }
  add(body, 'response_format', wireFormat(format))
  if (topLogprobs !== undefined) {
    body['logprobs'] = true
    body['top_logprobs'] = topLogprobs
  }
  add(body, 'chat_template_kwargs', wireTemplateOptions(task))
  if (marksContinuation === true && messages.at(-1)?.role === 'assistant') {
    body['continue_final_message'] = true
    body['add_generation_prompt'] = false
  }
}

function wireTemplateOptions({ reasoning, templateOptions }: ChatTask): Fields | undefined {
  const thinking = reasoning === undefined ? {} : { enable_thinking: reasoning.enabled }
  const options = { ...thinking, ...templateOptions }
  return Object.keys(options).length === 0 ? undefined : options
}

function addCompletion(body: Fields, { prompt, suffix, echo }: CompletionTask): void {
  body['prompt'] = prompt
  add(body, 'suffix', suffix)
  add(body, 'echo', echo)
}

function addEmbedding(body: Fields, { inputs, dimensions }: EmbeddingTask): void {
  body['input'] = inputs
  add(body, 'dimensions', dimensions)
  body['encoding_format'] = 'float'
}

function add(body: Fields, name: string, value: unknown): void {
  if (value !== undefined) body[name] = value
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
