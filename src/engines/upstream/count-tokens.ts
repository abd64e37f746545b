import { ModelyardError } from '../../base/errors.ts'
import type { EndpointFacts } from '../../models/model-facts.ts'
import type { Task } from '../../tasks/task.ts'
import type { EndpointPool } from './endpoint-pool.ts'
import type { WireRequest } from './wire-request.ts'

interface CountRequest {
  /** Its id here, for messages. */
  model: string
  counting: EndpointFacts['counting']
  task: Task
  /** What the endpoint would be sent for the task. */
  body: WireRequest['body']
  signal: AbortSignal
}

/** As llama.cpp's server reads prompts: with the token that begins every text, and marks of the template as tokens of their own. */
const MARKS = { add_special: true, parse_special: true }

type Post = (path: string, body: Record<string, unknown>) => Promise<Record<string, unknown>>

/**
 * Tokens of a prompt as the endpoint counts them: vLLM's and SGLang's `/tokenize` takes messages, llama.cpp's server renders them first.
 * @throws ModelyardError `unsupported` where neither is there, or what is counted is none of text
 */
export async function countTokensThere(
  endpoints: EndpointPool,
  { model, counting, task, body, signal }: CountRequest,
): Promise<number> {
  const post: Post = async (path, sent) => {
    const reply = await endpoints.open({ path, body: sent, aboveApi: true }, { slot: undefined, signal })
    return JSON.parse(await reply.whole()) as Record<string, unknown>
  }
  if (task.kind === 'chat' && counting !== undefined) {
    const count = counting === 'apply-template' ? countRendered(post, body) : countMessages(post, body)
    return numberOf(model, await count)
  }
  const texts = textsOf(task)
  const isCounted = counting !== undefined || texts.every((text) => typeof text !== 'string')
  if (texts.length === 0 || !isCounted) throw uncountable(model)
  let sum = 0
  for (const text of texts) {
    const fields =
      counting === 'apply-template' ? { content: text, ...MARKS } : { model: body['model'], prompt: text }
    sum += typeof text === 'string' ? numberOf(model, await countOf(post, fields)) : text.length
  }
  return sum
}

function textsOf(task: Task): readonly (string | readonly number[])[] {
  if (task.kind === 'completion') return [task.prompt]
  if (task.kind !== 'embedding') return []
  return task.inputs.flatMap((input) => (input instanceof Uint8Array ? [] : [input]))
}

async function countMessages(post: Post, body: WireRequest['body']): Promise<unknown> {
  const { model, messages, tools, chat_template_kwargs: options, continue_final_message: continues } = body
  return await countOf(post, {
    model,
    messages,
    add_generation_prompt: continues !== true,
    ...(continues === true && { continue_final_message: true }),
    ...(tools !== undefined && { tools }),
    ...(options !== undefined && { chat_template_kwargs: options }),
  })
}

async function countRendered(post: Post, body: WireRequest['body']): Promise<unknown> {
  const { messages, tools, chat_template_kwargs: options } = body
  const { prompt } = await post('/apply-template', {
    messages,
    ...(tools !== undefined && { tools }),
    ...(options !== undefined && { chat_template_kwargs: options }),
  })
  return await countOf(post, { content: prompt, ...MARKS })
}

async function countOf(post: Post, fields: Record<string, unknown>): Promise<unknown> {
  const { count, tokens } = await post('/tokenize', fields)
  return count ?? (Array.isArray(tokens) ? tokens.length : undefined)
}

function numberOf(model: string, count: unknown): number {
  if (typeof count === 'number') return count
  throw new ModelyardError(
    'engine_failed',
    `The upstream of model "${model}" counted tokens without a number.`,
  )
}

export function uncountable(model: string): ModelyardError {
  return new ModelyardError(
    'unsupported',
    `Tokens of model "${model}" cannot be counted ahead: its tokenizer is at its upstream, which does not show it.`,
  )
}
