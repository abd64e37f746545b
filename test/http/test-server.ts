import { connect, type Socket } from 'node:net'
import { SystemClock } from '../../src/base/clock.ts'
import { EventBus } from '../../src/events/event-bus.ts'
import { createRequestHandler, type RequestHandler } from '../../src/server/request-handler.ts'
import type { AccessRecord, ServerOptions } from '../../src/server/server-options.ts'
import { ScriptedPort, type ScriptedPortOptions } from './scripted-port.ts'

export interface TestServer {
  url: string
  port: number
  yard: ScriptedPort
  events: EventBus
  log: AccessRecord[]
  server: RequestHandler
  /** POST with a JSON body, unless the body is a string or bytes. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  close(): Promise<void>
}

type Options = Partial<Omit<ServerOptions, 'port'>> & ScriptedPortOptions

/** A real server on a free port over a scripted yard. */
export async function startTestServer(options: Options = {}): Promise<TestServer> {
  const clock = options.clock ?? new SystemClock()
  const yard = new ScriptedPort(options)
  const events = new EventBus(() => clock.wallTime())
  const log: AccessRecord[] = []
  const server = createRequestHandler({
    events,
    clock,
    stateOf: () => ({ models: yard.models.map(({ id }) => id) }),
    health: () => ({ ready: true }),
    log: (record) => log.push(record),
    ...options,
    port: yard,
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    yard,
    events,
    log,
    server,
    post: (path, body, headers = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    close: () => server.close({ drain: 100 }),
  }
}

/** A raw connection: what SDKs hide can be sent and seen. */
export class RawClient {
  readonly socket: Socket
  received = ''
  #closed = false

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    this.socket.setEncoding('latin1')
    this.socket.on('data', (text: string) => (this.received += text))
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => (this.#closed = true))
    this.socket.on('end', () => (this.#closed = true))
  }

  get closed(): boolean {
    return this.#closed
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes)
  }

  post(path: string, body: string, headers = ''): void {
    this.send(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`,
    )
  }

  async until(seen: (received: string) => boolean, milliseconds = 20_000): Promise<string> {
    await eventually(() => seen(this.received) || this.#closed, milliseconds)
    return this.received
  }
}

/** Waits until a condition holds, looking every few milliseconds. */
export async function eventually(condition: () => boolean, milliseconds = 20_000): Promise<number> {
  const start = performance.now()
  while (!condition()) {
    if (performance.now() - start > milliseconds) throw new Error(`not so within ${milliseconds} ms`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  return performance.now() - start
}

export const CHAT: { model: string; messages: { role: string; content: string }[] } = {
  model: 'model-a',
  messages: [{ role: 'user', content: 'Hi' }],
}
