import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A file as the server tells of it and as it serves it; each may lie. */
export interface ServedFile {
  content: Buffer
  /** Default: the true sum. null = kept in git, no sum. */
  sha256?: string | null
  etag?: string | null
  ranges?: boolean
}

/** What goes wrong with one request. Return true when the answer has been given. */
export type Fault = (
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
) => boolean | Promise<boolean>

export interface SeenRequest {
  method: string
  path: string
  range: string | undefined
  ifRange: string | undefined
  authorization: string | undefined
  status: number
}

const COMMIT = 'c0ffee0000000000000000000000000000000001'

/** FX-hub: a model hub on this machine, with a store on another port that files are redirected to on wish. */
export class HubServer implements AsyncDisposable {
  readonly requests: SeenRequest[] = []
  /** By `repository@revision`; revisions have their own commit. */
  readonly repositories: Map<string, Map<string, ServedFile>> = new Map()
  /** By `repository@revision`: what a branch names now, where it has moved. */
  readonly commits: Map<string, string> = new Map()
  /** Plain files by path, for sources that are addresses. */
  readonly files: Map<string, ServedFile> = new Map()
  /** Applied to requests for files, the first to each, in turn. */
  readonly faults: Fault[] = []
  /** Applied to all requests for files while set. */
  fault: Fault | undefined
  /** Applied to requests of the API. */
  apiFault: Fault | undefined
  /** Files come from the other port, by redirect. */
  redirect = false
  /** Bytes per second of each connection; 0 = as fast as it can. */
  speed = 0
  /** Connections that send a file now, and the most there were. */
  sending = 0
  mostSending = 0
  #hub!: Server
  #store!: Server

  static async start(): Promise<HubServer> {
    const server = new HubServer()
    server.#hub = await listen((request, response) => server.#answer(request, response))
    server.#store = await listen((request, response) => server.#answer(request, response))
    return server
  }

  get endpoint(): string {
    return addressOf(this.#hub)
  }

  get storeEndpoint(): string {
    return addressOf(this.#store)
  }

  add(repository: string, path: string, file: ServedFile | Buffer, revision = 'main'): ServedFile {
    const key = `${repository}@${revision}`
    const files = this.repositories.get(key) ?? new Map<string, ServedFile>()
    const served = Buffer.isBuffer(file) ? { content: file } : file
    this.repositories.set(key, files.set(path, served))
    return served
  }

  /** Requests for the bytes of files, without those of the API. */
  get fileRequests(): SeenRequest[] {
    return this.requests.filter(({ path, range }) => !path.startsWith('/api/') && range !== 'bytes=0-0')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#hub, this.#store]) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => undefined)
    this.#note(request, response)
    this.#route(request, response).catch((error: unknown) => response.destroy(error as Error))
  }

  /** When it comes, not when it has been answered: a client may have the last byte before this side knows that it is sent. */
  #note({ method, url, headers }: IncomingMessage, response: ServerResponse): void {
    this.requests.push({
      method: method ?? '',
      path: url ?? '',
      range: headers.range,
      ifRange: headers['if-range'] as string | undefined,
      authorization: headers.authorization,
      get status() {
        return response.statusCode
      },
    })
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://hub').pathname)
    if (path.startsWith('/api/')) return this.#api(path, request, response)
    const file = this.#find(path)
    if (file === undefined) return void response.writeHead(404).end('Entry not found')
    const isHub = request.socket.localPort === (this.#hub.address() as AddressInfo).port
    if (this.redirect && isHub) return this.#redirectTo(request, response, file)
    const isProbe = request.headers.range === 'bytes=0-0'
    const fault = isProbe ? this.fault : (this.faults.shift() ?? this.fault)
    if ((await fault?.(request, response, file.content)) === true) return
    await this.#send(request, response, file)
  }

  #find(path: string): ServedFile | undefined {
    const match = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(path)
    if (match === null) return this.files.get(path)
    const [, repository, commit, name = ''] = match
    for (const [key, files] of this.repositories) {
      if (key.startsWith(`${repository}@`) && this.#commitOf(key) === commit) return files.get(name)
    }
    return undefined
  }

  #commitOf(key: string): string {
    return this.commits.get(key) ?? commitOf(key)
  }

  #redirectTo(request: IncomingMessage, response: ServerResponse, file: ServedFile): void {
    response
      .writeHead(302, {
        location: `${this.storeEndpoint}${request.url}`,
        'x-linked-etag': `"${digestOf(file)}"`,
        'x-linked-size': String(file.content.length),
      })
      .end()
  }

  async #api(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if ((await this.apiFault?.(request, response, Buffer.alloc(0))) === true) return
    const revision = /^\/api\/models\/([^/]+\/[^/]+)\/revision\/(.+)$/.exec(path)
    const tree = /^\/api\/models\/([^/]+\/[^/]+)\/tree\/(.+)$/.exec(path)
    const key =
      revision === null
        ? [...this.repositories.keys()].find(
            (known) => known.startsWith(`${tree?.[1]}@`) && this.#commitOf(known) === tree?.[2],
          )
        : `${revision[1]}@${revision[2]}`
    const files = key === undefined ? undefined : this.repositories.get(key)
    if (files === undefined || key === undefined) {
      response.writeHead(404).end('{"error":"Repository not found"}')
    } else if (tree === null) response.end(JSON.stringify({ id: revision?.[1], sha: this.#commitOf(key) }))
    else response.end(JSON.stringify([...files].map(treeEntry)))
  }

  async #send(request: IncomingMessage, response: ServerResponse, file: ServedFile): Promise<void> {
    const { content, ranges = true } = file
    const etag = file.etag === undefined ? `"${digestOf(file)}"` : file.etag
    const headers = etag === null ? {} : { etag }
    const range = ranges && honoursIfRange(request, etag) ? parseRange(request.headers.range) : undefined
    if (range === undefined) {
      response.writeHead(200, { ...headers, 'content-length': content.length })
      return this.#stream(response, content)
    }
    const end = Math.min(range.end ?? content.length, content.length)
    if (range.start >= content.length) {
      response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end()
      return
    }
    const piece = content.subarray(range.start, end)
    response.writeHead(206, {
      ...headers,
      'content-length': piece.length,
      'content-range': `bytes ${range.start}-${end - 1}/${content.length}`,
    })
    await this.#stream(response, piece)
  }

  async #stream(response: ServerResponse, content: Buffer): Promise<void> {
    // The probe's single byte is no transfer.
    this.sending += content.length > 1 ? 1 : 0
    this.mostSending = Math.max(this.mostSending, this.sending)
    try {
      if (this.speed > 0) await trickle(response, content, this.speed)
      else
        await new Promise<void>((resolve) =>
          response.end(content, () => resolve()).on('close', () => resolve()),
        )
    } finally {
      this.sending -= content.length > 1 ? 1 : 0
    }
  }
}

async function trickle(response: ServerResponse, content: Buffer, speed: number): Promise<void> {
  const step = Math.max(1, Math.round(speed / 50))
  for (let at = 0; at < content.length && !response.destroyed; at += step) {
    response.write(content.subarray(at, at + step))
    await delay(20)
  }
  response.end()
}

/** Sends so many bytes of the answer and cuts the connection. */
export function cutAfter(bytes: number): Fault {
  return (request, response, content) => {
    const range = parseRange(request.headers.range)
    const start = range?.start ?? 0
    const end = Math.min(range?.end ?? content.length, content.length)
    response.writeHead(range === undefined ? 200 : 206, {
      etag: `"${sha256(content)}"`,
      'content-length': end - start,
      ...(range === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${content.length}` }),
    })
    response.write(content.subarray(start, Math.min(end, start + bytes)), () =>
      response.socket?.destroySoon(),
    )
    return true
  }
}

export function status(code: number, headers: Record<string, string> = {}): Fault {
  return (_, response) => {
    response.writeHead(code, headers).end('no')
    return true
  }
}

/** Says nothing, ever. */
export const silence: Fault = () => true

export function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function digestOf({ content, sha256: promised }: ServedFile): string {
  return promised ?? sha256(content)
}

function commitOf(key: string): string {
  return key.endsWith('@main') ? COMMIT : createHash('sha1').update(key).digest('hex')
}

function treeEntry([path, file]: [string, ServedFile]): object {
  const lfs =
    file.sha256 === null ? {} : { lfs: { oid: digestOf(file), size: file.content.length, pointerSize: 134 } }
  return { type: 'file', path, size: file.content.length, oid: 'abc', ...lfs }
}

function honoursIfRange({ headers }: IncomingMessage, etag: string | null): boolean {
  return headers['if-range'] === undefined || headers['if-range'] === etag
}

function parseRange(header: string | undefined): { start: number; end: number | undefined } | undefined {
  const match = /^bytes=(\d+)-(\d*)$/.exec(header ?? '')
  if (match === null) return undefined
  return { start: Number(match[1]), end: match[2] === '' ? undefined : Number(match[2]) + 1 }
}

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
