import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A request of a task, as it came. */
export interface SentRequest {
  path: string
  contentType: string
  body: Buffer
}

/** An endpoint that answers as a test wants, and notes what came. */
export class FakeUpstream {
  readonly #server: Server
  /** Answers in order; the last one stays. */
  readonly answers: Handler[] = [complete]
  readonly keys: (string | undefined)[] = []
  chats = 0
  /** Answers whose client left before their end. */
  left = 0
  models: string[] | undefined = ['remote']
  /** More of each model's entry in the list. */
  entries: Record<string, unknown> = {}
  /** Routes that are never answered. */
  readonly silent: Set<string> = new Set()
  /** JSON that other routes answer with; those that are not here answer 404. */
  readonly documents: Map<string, unknown> = new Map()
  /** Requests of tasks that were answered. */
  readonly sent: SentRequest[] = []
  /** Bodies that came to those routes. */
  readonly received: unknown[] = []

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
  }

  static async start(): Promise<FakeUpstream> {
    const fake = new FakeUpstream()
    fake.#server.listen(0, '127.0.0.1')
    await once(fake.#server, 'listening')
    return fake
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((closed) => this.#server.close(closed))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.keys.push(request.headers.authorization)
    if (request.url === '/v1/models') {
      request.resume()
      return this.#list(response)
    }
    const { url = '' } = request
    if (this.silent.has(url)) return void request.resume()
    if (!url.startsWith('/v1/')) return this.#document(request, response, this.documents.get(url))
    this.chats++
    response.on('close', () => {
      if (!response.writableFinished) this.left++
    })
    const handler = this.answers.length > 1 ? this.answers.shift() : this.answers[0]
    whole(request, (body) => {
      this.sent.push({ path: url, contentType: request.headers['content-type'] ?? '', body })
      handler?.(request, response)
    })
  }

  #list(response: ServerResponse): void {
    const data = this.models?.map((id) => ({ id, ...this.entries }))
    if (data === undefined) response.writeHead(404).end()
    else response.end(JSON.stringify({ object: 'list', data }))
  }

  #document(request: IncomingMessage, response: ServerResponse, document: unknown): void {
    whole(request, (body) => {
      if (body.length > 0) this.received.push(JSON.parse(body.toString()))
      if (document === undefined) response.writeHead(404).end()
      else response.end(JSON.stringify(document))
    })
  }
}

function whole(request: IncomingMessage, then: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => then(Buffer.concat(chunks)))
}

/** Answers with a JSON document. */
export function json(document: unknown): Handler {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  }
}

/** Answers with these bytes, in two pieces. */
export function bytes(data: Buffer, contentType = 'audio/wav'): Handler {
  return (_, response) => {
    const half = Math.floor(data.length / 2)
    response.writeHead(200, { 'content-type': contentType })
    response.write(data.subarray(0, half), () => response.end(data.subarray(half)))
  }
}

export function event(value: object | '[DONE]'): string {
  return `data: ${value === '[DONE]' ? value : JSON.stringify(value)}\n\n`
}

export function text(content: string): string {
  return event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
}

export function complete(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(text('fine'))
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
  response.write(event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } }))
  response.end(event('[DONE]'))
}

/** Begins an answer and ends the connection as if that were all. */
export function cutShort(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(text('half'))
}

/** Goes on and on. */
export function endless(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const more = setInterval(() => response.write(text('more ')), 5)
  response.on('close', () => clearInterval(more))
}

export function refuse(status: number, message: string, headers: Record<string, string> = {}): Handler {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message } }))
  }
}

/** Begins an answer with these bytes and breaks the connection. */
export function breakOff(data: Buffer | string, contentType = 'application/json'): Handler {
  return (_, response) => {
    response.writeHead(200, { 'content-type': contentType }).write(data, () => response.destroy())
  }
}

/** Ends the connection without a word. */
export function hangUp(request: IncomingMessage): void {
  request.socket.destroy()
}

/** Answers with these events and ends. */
export function events(told: string): Handler {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(told)
  }
}

/** Answers with these events and keeps the connection open with comments, as proxies do. */
export function pingsAfter(told: string): Handler {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(told)
    const pings = setInterval(() => response.write(': ping\n\n'), 50)
    response.on('close', () => clearInterval(pings))
  }
}

/** Says that a chunk follows, and sends something else. */
export function brokenChunk(_: IncomingMessage, { socket }: ServerResponse): void {
  socket?.write(
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\nx',
  )
}
