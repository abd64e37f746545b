import type { ModelListing } from '../dialects/yard-port.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import { contentText } from '../tasks/message.ts'
import { askLocal, openLocal } from './http-json.ts'
import type { Answer, Question, YardClient, YardStateView } from './yard-client.ts'

/** A yard in a running server, spoken to over its own HTTP API. */
export class HttpYardClient implements YardClient {
  readonly server: { pid: number; url: string }
  readonly #headers: Record<string, string>

  constructor(server: { pid: number; url: string }, key?: string) {
    this.server = server
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  }

  async state(): Promise<YardStateView> {
    return await this.#ask('/api/yard/state')
  }

  async list(): Promise<ModelListing[]> {
    return (await this.state()).models
  }

  async show(model: string): Promise<Record<string, unknown>> {
    return await this.#ask(`/v1/models/${encodeURIComponent(model)}`)
  }

  async plan(model: string): Promise<Record<string, unknown>> {
    return await this.#ask(`/api/yard/plan?model=${encodeURIComponent(model)}`)
  }

  async load(model: string, signal: AbortSignal): Promise<void> {
    await this.#ask('/api/yard/load', { model }, signal)
  }

  async unload(model: string): Promise<void> {
    await this.#ask('/api/yard/unload', { model })
  }

  async *ask(question: Question): Answer {
    const { readAnswer } = await import('./http-answer.ts')
    const response = await openLocal(`${this.server.url}/v1/chat/completions`, {
      body: wireRequest(question),
      headers: { ...this.#headers, accept: 'text/event-stream' },
      signal: question.signal,
    })
    return yield* readAnswer(response, question.model)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  async #ask<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    return await askLocal<T>(`${this.server.url}${path}`, {
      ...(body !== undefined && { body }),
      headers: this.#headers,
      signal,
    })
  }
}

/** An OpenAI chat completion. What was not asked for stays out: the model has its own defaults. */
function wireRequest({ model, messages, sampling, maxTokens }: Question): Record<string, unknown> {
  const { temperature, topP, seed } = sampling
  return {
    model,
    messages: messages.map(wireMessage),
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(seed !== undefined && { seed }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    priority: 'interactive',
  }
}

function wireMessage({ role, content }: ChatTask['messages'][number]): { role: string; content: string } {
  return { role, content: contentText(content) }
}
