import type { IncomingMessage } from 'node:http'
import { ModelyardError } from '../base/errors.ts'
import type { ContextListing } from '../pool/context-listing.ts'
import type { ContextsRequest, ModelDescription, ModelListing, WarmResult } from '../dialects/yard-port.ts'
import type { ServedList } from '../models/served-models.ts'
import type { WarmRequest } from '../runs/library-request.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { LoadForecast } from '../pool/forecast.ts'
import { contentText } from '../tasks/message.ts'
import type { YardEvent } from '../events/event-map.ts'
import type { Explanation, SettingStatus } from '../server/control-port.ts'
import { tellOfForeignFile } from './foreign-file.ts'
import { openLocal, readBytes, readJson, type LocalRequest } from './http-json.ts'
import type { YardState } from '../yard-state.ts'
import type {
  LoadCall,
  Answer,
  ImageWishes,
  LogWishes,
  Question,
  SpeechWishes,
  TranscriptionWishes,
  TranscriptText,
  YardClient,
} from './yard-client.ts'

/** A yard in a running server, spoken to over its own HTTP API. */
export class HttpYardClient implements YardClient {
  readonly server: { pid: number; url: string }
  readonly #findKey: () => Promise<string | undefined>
  #headers: Record<string, string> = {}

  /** `findKey` is asked only when the server wants a key. */
  constructor(server: { pid: number; url: string }, findKey: () => Promise<string | undefined>) {
    this.server = server
    this.#findKey = findKey
  }

  async state(): Promise<YardState> {
    return await this.#json('/api/yard/state')
  }

  /** As the state route prints them, after the server has looked again which files there are. */
  async list(): Promise<ModelListing[]> {
    await this.#json('/v1/models')
    return (await this.state()).models
  }

  async show(model: string): Promise<ModelDescription> {
    return await this.#json(`/api/yard/models/${encodeURIComponent(model)}`)
  }

  async refreshModelLists(): Promise<ServedList[]> {
    const answer = await this.#json<{ lists: ServedList[] }>('/api/yard/models/refresh', { method: 'POST' })
    return answer.lists
  }

  async plan(model: string): Promise<LoadForecast> {
    return await this.#json(`/api/yard/plan/${encodeURIComponent(model)}`)
  }

  async load(model: string, { signal, force = false, wish }: LoadCall): Promise<void> {
    await this.#json('/api/yard/load', { body: { model, force, ...wish }, signal })
  }

  async unload(model: string, { force = false }: { force?: boolean } = {}): Promise<void> {
    await this.#json('/api/yard/unload', { body: { model, force } })
  }

  async warm({ signal, ...body }: WarmRequest): Promise<WarmResult> {
    return await this.#json('/api/yard/warm', { body, ...(signal !== undefined && { signal }) })
  }

  async contexts(): Promise<ContextListing[]> {
    return (await this.#json<{ contexts: ContextListing[] }>('/api/yard/contexts')).contexts
  }

  async removeContexts(request: ContextsRequest): Promise<number> {
    return (await this.#json<{ removed: number }>('/api/yard/contexts/remove', { body: request })).removed
  }

  async settings(): Promise<SettingStatus[]> {
    return (await this.#json<{ settings: SettingStatus[] }>('/api/yard/settings')).settings
  }

  async changeSettings(changes: Readonly<Record<string, unknown>>): Promise<SettingStatus[]> {
    const options = { method: 'PATCH', body: changes } as const
    return (await this.#json<{ settings: SettingStatus[] }>('/api/yard/settings', options)).settings
  }

  async pin(model: string, pinned: boolean | 'soft'): Promise<void> {
    await this.#json('/api/yard/pin', { body: { model, pinned } })
  }

  async why(name: string): Promise<Explanation> {
    return await this.#json(`/api/yard/why/${encodeURIComponent(name)}`)
  }

  async *logs(name: string, { lines, follow, signal }: LogWishes): AsyncGenerator<string> {
    const query = new URLSearchParams({ instance: name, lines: String(lines), follow: String(follow) })
    const response = await this.#open(`/api/yard/logs?${query.toString()}`, { signal })
    response.setEncoding('utf8')
    yield* untilAborted(response, signal)
  }

  async *events(signal: AbortSignal): AsyncGenerator<YardEvent> {
    const { createParser } = await import('eventsource-parser')
    const ready: YardEvent[] = []
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event !== 'events-skipped') ready.push(JSON.parse(data) as YardEvent)
      },
    })
    const response = await this.#open('/api/yard/events', { signal })
    response.setEncoding('utf8')
    for await (const chunk of untilAborted(response, signal)) {
      parser.feed(chunk)
      yield* ready.splice(0)
    }
  }

  async transcribe({
    model,
    audio,
    file,
    language,
    translate,
    signal,
  }: TranscriptionWishes): Promise<TranscriptText> {
    const fields = new FormData()
    fields.set('model', model)
    fields.set('response_format', 'verbose_json')
    if (language !== undefined) fields.set('language', language)
    fields.set('file', new Blob([Uint8Array.from(audio)]), file)
    const encoded = new Response(fields)
    const form = {
      type: encoded.headers.get('content-type') ?? '',
      data: new Uint8Array(await encoded.arrayBuffer()),
    }
    const path = `/v1/audio/${translate ? 'translations' : 'transcriptions'}`
    const { text, segments } = await this.#json<TranscriptText>(path, { method: 'POST', form, signal })
    return { text, segments }
  }

  async speak({ model, text, format, voice, speed, signal }: SpeechWishes): Promise<Uint8Array> {
    const body = {
      model,
      input: text,
      response_format: format,
      ...(voice !== undefined && { voice }),
      ...(speed !== undefined && { speed }),
    }
    return await readBytes(await this.#open('/v1/audio/speech', { body, signal }))
  }

  async draw({ signal, guidance, negativePrompt, ...wishes }: ImageWishes): Promise<Uint8Array> {
    const body = {
      ...wishes,
      ...(guidance !== undefined && { cfg_scale: guidance }),
      ...(negativePrompt !== undefined && { negative_prompt: negativePrompt }),
    }
    const { data } = await this.#json<{ data: { b64_json: string }[] }>('/v1/images/generations', {
      body,
      signal,
    })
    return Buffer.from(data[0]?.b64_json ?? '', 'base64')
  }

  async *ask(question: Question): Answer {
    const { readAnswer } = await import('./http-answer.ts')
    const response = await this.#open('/v1/chat/completions', {
      body: wireRequest(question),
      headers: { accept: 'text/event-stream' },
      signal: question.signal,
    })
    return yield* readAnswer(response, question)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  async #json<T>(path: string, options: LocalRequest = {}): Promise<T> {
    return (await readJson(await this.#open(path, options))) as T
  }

  async #open(path: string, options: LocalRequest): Promise<IncomingMessage> {
    try {
      return await this.#request(path, options)
    } catch (error) {
      throw tellOfForeignFile(error, this.server.url)
    }
  }

  /** Asks again with a key when one is wanted. */
  async #request(path: string, options: LocalRequest): Promise<IncomingMessage> {
    const url = `${this.server.url}${path}`
    const send = (): Promise<IncomingMessage> =>
      openLocal(url, { ...options, headers: { ...options.headers, ...this.#headers } })
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof ModelyardError) || error.code !== 'unauthorized') throw error
      const key = this.#headers.authorization === undefined ? await this.#findKey() : undefined
      if (key === undefined) throw noKey(this.server.url, error)
      this.#headers = { authorization: `Bearer ${key}` }
      return await send()
    }
  }
}

/** Whoever ends it has seen enough: that is no error. */
async function* untilAborted(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<string> {
  try {
    for await (const chunk of response) yield chunk as string
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function noKey(url: string, cause: ModelyardError): ModelyardError {
  return new ModelyardError(
    'unauthorized',
    `The server at ${url} wants an API key. Set MODELYARD_API_KEY to one of its keys.`,
    { cause },
  )
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
