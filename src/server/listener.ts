import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { NodeHandler } from './http-router.ts'

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

export interface ListenAddress {
  host: string
  /** 0 = any free one */
  port: number
}

/** A listening node:http server that ends properly. */
export class Listener {
  readonly #server: Server
  readonly #clock: Clock
  #closing: Promise<void> | undefined

  constructor(handler: NodeHandler, clock: Clock) {
    this.#clock = clock
    this.#server = createServer(NODE_OPTIONS, handler)
    this.#server.timeout = 0
    this.#server.on('request', (_request, response: ServerResponse) => {
      // While closing, a connection goes as soon as its answer is out.
      response.once('close', () => this.#closing !== undefined && this.#server.closeIdleConnections())
    })
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
    this.#server.closeIdleConnections()
    const timer = this.#clock.setTimer(drain, () => this.#server.closeAllConnections())
    await closed
    timer.cancel()
  }
}
