import { PassThrough } from 'node:stream'
import { ManualClock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { ContextsRequest, WarmResult } from '../dialects/yard-port.ts'
import type { ServedList } from '../models/served-models.ts'
import type { WarmRequest } from '../runs/library-request.ts'
import type { InstanceStatus } from '../pool/pool-status.ts'
import type { ContextListing } from '../pool/context-listing.ts'
import type { YardEvent } from '../events/event-map.ts'
import type { LoadForecast } from '../pool/forecast.ts'
import type { Explanation, SettingStatus } from '../server/control-port.ts'
import type { Message } from '../tasks/message.ts'
import type { Part } from '../tasks/part.ts'
import { contextsToRemove } from '../yard-contexts.ts'
import { yardDirectories } from '../config/directories.ts'
import type { CommandContext } from './command-context.ts'
import { Output } from './output.ts'
import type { YardState } from '../yard-state.ts'
import type {
  AnswerSummary,
  Question,
  YardClient,
  ImageWishes,
  SpeechWishes,
  TranscriptionWishes,
  TranscriptText,
} from './yard-client.ts'

/** For tests of commands: two screens, a keyboard and a yard whose answers are written down beforehand. */
export interface Desk {
  context: CommandContext
  stdin: PassThrough
  out: () => string
  err: () => string
  yard: FakeYard
  interrupt: AbortController
}

export function createDesk(yard: FakeYard = new FakeYard()): Desk {
  const [out, outText] = screen()
  const [err, errText] = screen()
  const stdin = new PassThrough()
  const interrupt = new AbortController()
  const context: CommandContext = {
    stdin,
    out: new Output(out),
    err: new Output(err),
    clock: new ManualClock(),
    environment: {},
    directories: yardDirectories({ MODELYARD_HOME: '/nowhere' }, '/'),
    signal: interrupt.signal,
    openYard: () => Promise.resolve(yard),
  }
  return { context, stdin, out: outText, err: errText, yard, interrupt }
}

function screen(): [PassThrough, () => string] {
  const stream = new PassThrough()
  let shown = ''
  stream.on('data', (data: Buffer) => (shown += data.toString()))
  return [stream, () => shown]
}

/** What a script answers with: parts, then its end; an error; or nothing until it is aborted. */
export type FakeAnswer =
  | { parts: Part[]; summary?: Partial<AnswerSummary> }
  | { parts: Part[]; error: Error }
  | { parts: Part[]; hangs: true }

export class FakeYard implements YardClient {
  server: YardClient['server']
  readonly asked: Question[] = []
  readonly calls: string[] = []
  readonly answers: FakeAnswer[] = []
  models: string[] = ['tiny', 'other']
  closed = 0

  instances: InstanceStatus[] = []

  state(): Promise<YardState> {
    return Promise.resolve({
      version: '0.0.0',
      pid: 1,
      home: null,
      url: null,
      startedAt: 0,
      store: 'ok',
      modelLists: this.lists,
      activity: [],
      models: [],
      instances: this.instances,
      queue: [],
      memory: {
        ram: { budget: 2 ** 30, absolute: 2 ** 30, booked: 0, loading: 0, resident: 0, releasing: 0 },
      },
      threads: { limit: 1, active: 0 },
      runs: { limit: 4, active: 0 },
      contexts: { count: 0, bytes: 0, limit: null, savedTokens: 0, savedSeconds: 0 },
    })
  }

  lists: ServedList[] = []

  refreshModelLists(): Promise<ServedList[]> {
    this.calls.push('refresh')
    return Promise.resolve(this.lists)
  }

  list(): ReturnType<YardClient['list']> {
    return Promise.resolve(
      this.models.map((id) => ({
        id,
        aliases: [],
        name: id,
        favourite: false,
        created: 0,
        state: 'unloaded',
        contextLength: 1024,
        capabilities: null,
        purpose: 'generation' as const,
      })),
    )
  }

  async show(model: string): ReturnType<YardClient['show']> {
    const listed = (await this.list()).find(({ id }) => id === model)
    if (listed !== undefined) return listed
    throw new ModelyardError('model_not_found', `There is no model "${model}".`)
  }

  parked: ContextListing[] = []
  warmed: WarmRequest[] = []

  warm(request: WarmRequest): Promise<WarmResult> {
    this.warmed.push(request)
    return Promise.resolve({ model: request.model, tokens: 1450, cachedTokens: 50, took: 7000, kept: true })
  }

  contexts(): Promise<ContextListing[]> {
    return Promise.resolve(this.parked)
  }

  async removeContexts(request: ContextsRequest): Promise<number> {
    const { ids, model } = contextsToRemove(request, this.parked, (name) => name)
    const before = this.parked.length
    this.parked = this.parked.filter((context) =>
      ids === undefined ? model !== undefined && context.model !== model : !ids.includes(context.id),
    )
    return before - this.parked.length
  }

  forecast: Partial<LoadForecast> = {}

  async plan(model: string): ReturnType<YardClient['plan']> {
    await this.show(model)
    const fits = { outcome: 'fits' as const, evicts: [], largestContext: 2048 }
    return { model, bytes: { ram: 2 ** 20 }, contextSize: 1024, slots: 4, ...fits, ...this.forecast }
  }

  load(model: string): Promise<void> {
    this.calls.push(`load ${model}`)
    return Promise.resolve()
  }

  unload(model: string): Promise<void> {
    this.calls.push(`unload ${model}`)
    return Promise.resolve()
  }

  settingList: SettingStatus[] = []

  settings(): Promise<SettingStatus[]> {
    return Promise.resolve(this.settingList)
  }

  changeSettings(changes: Readonly<Record<string, unknown>>): Promise<SettingStatus[]> {
    this.calls.push(`change ${JSON.stringify(changes)}`)
    return Promise.resolve(this.settingList)
  }

  pin(model: string, pinned: boolean | 'soft'): Promise<void> {
    this.calls.push(`pin ${model} ${pinned}`)
    return Promise.resolve()
  }

  explanation: Partial<Explanation> = {}

  async why(name: string): Promise<Explanation> {
    const model = {
      subject: 'model' as const,
      id: name,
      model: name,
      reasons: ['It is unloaded.'],
      events: [],
    }
    return { ...model, ...this.explanation }
  }

  logLines: string[] = []

  async *logs(): AsyncGenerator<string> {
    yield* this.logLines
  }

  happened: YardEvent[] = []

  async *events(): AsyncGenerator<YardEvent> {
    yield* this.happened
  }

  transcribe({ file, translate }: TranscriptionWishes): Promise<TranscriptText> {
    this.calls.push(`${translate ? 'translate' : 'transcribe'} ${file}`)
    return Promise.resolve({ text: 'Hello.', segments: [{ start: 0, end: 1.5, text: ' Hello.' }] })
  }

  speak({ text: said, format }: SpeechWishes): Promise<Uint8Array> {
    this.calls.push(`speak ${said} as ${format}`)
    return Promise.resolve(Buffer.from('sound'))
  }

  draw({ prompt, size = 'any size' }: ImageWishes): Promise<Uint8Array> {
    this.calls.push(`draw ${prompt} in ${size}`)
    return Promise.resolve(Buffer.from('picture'))
  }

  async *ask(question: Question): ReturnType<YardClient['ask']> {
    this.asked.push(question)
    const answer = this.answers.shift() ?? { parts: [] }
    yield* answer.parts
    if ('error' in answer) throw answer.error
    if ('hangs' in answer) await untilAborted(question.signal)
    return {
      model: question.model,
      finishReason: 'stop',
      usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 2, reasoningTokens: 0 },
      ...('summary' in answer ? answer.summary : {}),
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.closed++
    return Promise.resolve()
  }
}

async function untilAborted(signal: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  throw new ModelyardError('aborted', 'Interrupted.')
}

/** A part of an answer. */
export function text(words: string): Part {
  return { type: 'text', text: words }
}

/** What was said so far, for comparison: `user: hello`. */
export function transcript(messages: readonly Message[]): string[] {
  return messages.map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : '…'}`)
}
