import { copyFile, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { ScriptEntry } from '../../src/engines/scripted/scripted-options.ts'
import { readProcessStat } from '../../src/host/process-identity.ts'
import { processTree } from '../../src/host/process-tree.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import type { YardOptions } from '../../src/yard-options.ts'
import type { YardState } from '../../src/yard-state.ts'
import { TestHome, type Ended, type Program, type StartOptions } from '../cli/program.ts'
import { ENGINES_DIRECTORY, fetched, TINY_CHAT } from '../models/paths.ts'
import { removeAfterFile } from '../preparation/homes-of-file.ts'

/** Whether real weights can be loaded here: `npm test` installs the engine. */
export const HAS_LLAMA: boolean = fetched(join(ENGINES_DIRECTORY, 'node-llama-cpp/node_modules'))

/** What the test model answers to, and how; its README has the table. */
export const FIXED: { messages: { role: string; content: string }[]; answer: string }[] = [
  { messages: [{ role: 'user', content: 'hi' }], answer: 'Hello, how are you today?' },
  { messages: [{ role: 'user', content: 'Hello, how are you today?' }], answer: 'I am fine, thank you.' },
  {
    messages: [{ role: 'user', content: 'Count.' }],
    answer: 'one two three four five six seven eight nine ten',
  },
  {
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'hi' },
    ],
    answer: 'Hello, I am a helpful assistant.',
  },
]

/** The tokens of tiny-chat that would end its turn are forbidden: it goes on until its context is full. */
export const ENDLESS: Record<string, number> = { 0: -100, 2: -100 }

/** A home of its own whose engines are the ones that `npm test` installed. What runs in it ends with the file's tests at the latest. */
export async function openHome(configuration: object = {}): Promise<TestHome> {
  const home = await TestHome.create(configuration)
  removeAfterFile(home)
  await symlink(ENGINES_DIRECTORY, join(home.path, 'engines'))
  return home
}

/** The test model under a name of its own: another file, so that no weights are shared. */
export async function copyOfTinyChat(home: TestHome, name: string): Promise<string> {
  const path = join(home.path, `${name}.gguf`)
  await copyFile(TINY_CHAT, path)
  return path
}

/** Yards in this process. */
export interface OwnYards {
  /** This test's own. */
  home: TestHome
  /** Opens a yard on that home; it ends with the test. */
  open: (options: YardOptions) => Promise<Yard>
}

/** Gives each test a home, and ends the yards that were opened on it. */
export function ownYards(): OwnYards {
  const yards: Yard[] = []
  const own: OwnYards = {
    home: new TestHome(''),
    async open(options) {
      const yard = await createYard({ home: own.home.path, ...options })
      yards.push(yard)
      return yard
    },
  }
  beforeEach(async () => {
    own.home = await openHome()
  })
  afterEach(async () => {
    await Promise.all(yards.splice(0).map((yard) => yard.stop({ deadline: 0 })))
    await own.home.remove()
  })
  return own
}

export const user = (content: string): { role: 'user'; content: string } => ({ role: 'user', content })

/** Speaks for ever on request, a word every 10 ms. */
export const TALKER: { engine: 'scripted'; script: ScriptEntry[] } = {
  engine: 'scripted',
  script: [
    { match: 'for ever', text: 'tick ', repeat: 100_000, delay: 10 },
    { match: '.*', text: ['Hel', 'lo'] },
  ],
}

/** A `modelyard serve` process of a home. */
export interface ServedYard {
  api: Api
  program: Program & { url: string }
  /** As an operator ends it. @throws when it does not end cleanly */
  stop: () => Promise<void>
}

export async function serve(
  home: TestHome,
  words: readonly string[] = [],
  options: StartOptions = {},
): Promise<ServedYard> {
  const program = await home.serve(words, options)
  return {
    api: new Api(program.url),
    program,
    stop: async () => {
      program.kill('SIGTERM')
      const { code, err }: Ended = await program.ended
      if (code !== 0) throw new Error(`the server ended with ${code}: ${err}`)
    },
  }
}

export interface ChatAnswer {
  status: number
  headers: Headers
  /** Undefined for errors. */
  text: string | undefined
  finish: string | undefined
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  body: Record<string, unknown>
}

interface ChatBody {
  choices?: { message: { content: string }; finish_reason: string }[]
  usage?: {
    prompt_tokens: number
    completion_tokens: number
    prompt_tokens_details?: { cached_tokens?: number }
  }
}

export type ChatFields = Record<string, unknown> & { model: string }

/** What was asked, as a body of `/v1/chat/completions`; a text is the only user message. */
export function chatBody(
  asked: string | readonly { role: string; content: string }[],
  fields: ChatFields,
): string {
  const messages = typeof asked === 'string' ? [{ role: 'user', content: asked }] : asked
  return JSON.stringify({ temperature: 0, messages, ...fields })
}

/** The HTTP API of a yard, as a client without a kit uses it. */
export class Api {
  readonly url: string

  constructor(url: string) {
    this.url = url
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  async post(path: string, body: string, signal?: AbortSignal): Promise<Response> {
    return await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      ...(signal === undefined ? {} : { signal }),
    })
  }

  async chat(
    asked: string | readonly { role: string; content: string }[],
    fields: ChatFields,
    signal?: AbortSignal,
  ): Promise<ChatAnswer> {
    const response = await this.post('/v1/chat/completions', chatBody(asked, fields), signal)
    const body = (await response.json()) as ChatBody & Record<string, unknown>
    return {
      status: response.status,
      headers: response.headers,
      text: body.choices?.[0]?.message.content,
      finish: body.choices?.[0]?.finish_reason,
      promptTokens: body.usage?.prompt_tokens ?? 0,
      completionTokens: body.usage?.completion_tokens ?? 0,
      cachedTokens: body.usage?.prompt_tokens_details?.cached_tokens ?? 0,
      body,
    }
  }

  async stream(
    asked: string | readonly { role: string; content: string }[],
    fields: ChatFields,
    signal?: AbortSignal,
  ): Promise<ChatStream> {
    const body = chatBody(asked, { ...fields, stream: true })
    return new ChatStream(await this.post('/v1/chat/completions', body, signal))
  }

  async state(): Promise<YardState> {
    return (await (await fetch(`${this.url}/api/yard/state`)).json()) as YardState
  }

  /** The only instance of a model, or nothing. */
  async instance(model: string): Promise<YardState['instances'][number] | undefined> {
    return (await this.state()).instances.find((instance) => instance.model === model)
  }

  async model(id: string): Promise<YardState['models'][number]> {
    const found = (await this.state()).models.find((model) => model.id === id)
    if (found === undefined) throw new Error(`no model "${id}"`)
    return found
  }

  /** Waits until the state is as wanted. @returns the milliseconds that took */
  async until(wanted: (state: YardState) => boolean, milliseconds = 20_000): Promise<number> {
    const begun = performance.now()
    for (;;) {
      const state = await this.state()
      const took = performance.now() - begun
      if (wanted(state)) return took
      if (took > milliseconds) throw new Error(`not so within ${milliseconds} ms: ${summary(state)}`)
      await sleep(3)
    }
  }
}

function summary({ instances, queue, runs }: YardState): string {
  const copies = instances.map(({ id, state, leases }) => `${id} ${state}, ${leases} leases`)
  const waiting = queue.map(({ id, model, reason }) => `${id} waits for ${model}: ${reason}`)
  return [...copies, ...waiting, `${runs.active} runs`].join('; ')
}

interface ChatChunk {
  choices?: { delta: { content?: string | null }; finish_reason: string | null }[]
  error?: { message: string; code: string; type: string }
}

/** A streamed answer, read piece by piece. */
export class ChatStream {
  readonly response: Response
  /** What came so far, as it came. */
  received = ''
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  readonly #decoder = new TextDecoder()

  constructor(response: Response) {
    this.response = response
    this.#reader = response.body?.getReader()
  }

  get events(): string[] {
    return [...this.received.matchAll(/^data: (.*)\n\n/gm)].map(([, data]) => data ?? '')
  }

  get chunks(): ChatChunk[] {
    return this.events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as ChatChunk)
  }

  get text(): string {
    return this.chunks.map(({ choices }) => choices?.[0]?.delta.content ?? '').join('')
  }

  get finishReasons(): string[] {
    return this.chunks.flatMap(({ choices }) => choices?.[0]?.finish_reason ?? [])
  }

  get errors(): { message: string; code: string; type: string }[] {
    return this.chunks.flatMap(({ error }) => error ?? [])
  }

  /** Reads until so much text is there, or the end. */
  async readText(atLeast: number): Promise<this> {
    while (this.text.length < atLeast && (await this.#readOn()));
    return this
  }

  async readAll(): Promise<this> {
    while (await this.#readOn());
    return this
  }

  async #readOn(): Promise<boolean> {
    const next = await this.#reader?.read()
    if (next?.value === undefined) return false
    this.received += this.#decoder.decode(next.value, { stream: true })
    return true
  }
}

export async function sleep(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/** Waits until a condition holds. @returns the milliseconds that took */
export async function until(
  condition: () => boolean | Promise<boolean>,
  milliseconds = 20_000,
): Promise<number> {
  const begun = performance.now()
  while (!(await condition())) {
    if (performance.now() - begun > milliseconds) throw new Error(`not so within ${milliseconds} ms`)
    await sleep(3)
  }
  return performance.now() - begun
}

/** Whether a process runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  const stat = readProcessStat(pid)
  return stat !== undefined && stat.state !== 'Z'
}

/** All that descend from a process and run. */
export function descendants(pid: number): number[] {
  return processTree(pid).filter((one) => one !== pid && isRunning(one))
}

/** What a process holds, as the kernel tells it, in bytes: with its share of what others map as well, and with all of that. 0 when it is gone. */
export async function readMemory(pid: number): Promise<{ pss: number; rss: number }> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '')
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024
  return { pss: bytes('Pss'), rss: bytes('Rss') }
}

/** Milliseconds of processor time that a process has used. */
export async function processorTime(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // User and system time in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10
}
