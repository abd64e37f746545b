import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import type { NodeHandler } from './fastify-plugin.ts'

/**
 * Node's own limits must not cut long answers or break pooled connections (BR-14): no limit on requests as a whole (uploads have
 * their own), idle connections live longer than any client keeps them (15 s).
 */
const NODE_OPTIONS = {
  requestTimeout: 0,
  headersTimeout: 60_000,
  keepAliveTimeout: 75_000,
  noDelay: true,
  keepAlive: true,
}

/** How often connections that became idle are looked for while closing. */
const CLOSING_CHECK = 50

export interface ListenAddress {
  host: string
  /** 0 = any free one */
  port: number
}

/** A listening node:http server that ends properly. */
export class Listener {
  readonly #server: Server
  readonly #clock: Clock
  /** Connections without a request yet: browsers and pools open some ahead, and node does not take them for idle. */
  readonly #fresh = new Set<Socket>()
  #closing: Promise<void> | undefined

  constructor(handler: NodeHandler, clock: Clock) {
    this.#clock = clock
    this.#server = createServer(NODE_OPTIONS, (request, response) => {
      this.#fresh.delete(request.socket)
      handler(request, response)
    })
    this.#server.on('connection', (socket: Socket) => {
      this.#fresh.add(socket)
      socket.once('close', () => this.#fresh.delete(socket))
    })
    this.#server.on('clientError', refuseBrokenRequest)
  }

  async listen({ host, port }: ListenAddress): Promise<ListenAddress> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    const address = this.#server.address() as AddressInfo
    return { host: address.address, port: address.port }
  }

  /** Takes no new connections, lets answers end for `drain` milliseconds, then cuts. Twice is harmless. */
  close(drain: number): Promise<void> {
    this.#closing ??= this.#end(drain)
    return this.#closing
  }

  async #end(drain: number): Promise<void> {
    if (!this.#server.listening) return
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
    let check: Timer | undefined
    const closeIdle = (): void => {
      this.#server.closeIdleConnections()
      for (const socket of this.#fresh) socket.destroy()
      check = this.#clock.setTimer(CLOSING_CHECK, closeIdle)
    }
    closeIdle()
    const cut = this.#clock.setTimer(drain, () => this.#server.closeAllConnections())
    await closed
    check?.cancel()
    cut.cancel()
  }
}

const BROKEN: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', "The request's headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not come in time.'],
}

/** Bytes that are no HTTP get an answer, not a bare cut; but never one in the middle of the answer to an earlier request. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  // Node's own handler looks at this field too; there is no public one.
  const current = (socket as { _httpMessage?: { headersSent: boolean } | null })._httpMessage
  if (!socket.writable || error.code === 'ECONNRESET' || current?.headersSent === true) {
    socket.destroy()
    return
  }
  const [status, message] = BROKEN[error.code ?? ''] ?? [
    '400 Bad Request',
    'This is not a valid HTTP request.',
  ]
  const body = JSON.stringify({
    error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request' },
  })
  const headers = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`)
}
