import { describe, expect, it } from 'vitest'
import { abortSignalOf, Cancellation } from '../base/cancellation.ts'
import { ManualClock } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { EngineCapabilities } from '../engines/engine.ts'
import { NO_CAPABILITIES } from '../engines/engine.ts'
import { EventBus } from '../events/event-bus.ts'
import type { AcquireRequest, Lease } from '../pool/lease.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { Fingerprint } from '../tasks/fingerprint.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import { CrashRecord } from './crash-record.ts'
import { LiveRuns } from './live-runs.ts'
import type { RunRecord } from './run-log.ts'
import type { RunSurroundings } from './run-surroundings.ts'
import { startRun } from './run-task.ts'
import { TextStream } from './text-stream.ts'

const CAN: EngineCapabilities = {
  ...NO_CAPABILITIES,
  tasks: ['chat', 'completion'],
  prefill: true,
  tokenInput: true,
  logitBias: true,
}
const RESULT: Result = {
  finishReason: 'stop',
  usage: { promptTokens: 7, cachedTokens: 2, completionTokens: 2, reasoningTokens: 0 },
  timings: { prefill: 1, decode: 2 },
}
const TASK: ChatTask = {
  kind: 'chat',
  messages: [{ role: 'user', content: 'my secret' }],
  sampling: {},
  stop: [],
}

type Script = (signal: AbortSignal, cut: (cause: ModelyardError) => void) => PartStream

async function* answering(): PartStream {
  yield { type: 'started', promptTokens: 7, cachedTokens: 2 }
  yield { type: 'text', text: 'Hel' }
  yield { type: 'text', text: 'lo' }
  return RESULT
}

async function* dyingAtOnce(): PartStream {
  yield { type: 'started', promptTokens: 7, cachedTokens: 2 }
  throw new ModelyardError('worker_exited', 'The worker was killed.')
}

/** As the pool sees it: whoever held a lease of the dead instance is cut before the run hears of it. */
async function* cutByDeath(_: AbortSignal, cut: (cause: ModelyardError) => void): PartStream {
  yield { type: 'started', promptTokens: 7, cachedTokens: 2 }
  cut(new ModelyardError('worker_exited', 'm#1 ended.'))
  throw new ModelyardError('worker_exited', 'The worker was killed.')
}

async function* dyingAfterText(): PartStream {
  yield { type: 'started', promptTokens: 7, cachedTokens: 2 }
  yield { type: 'text', text: 'Hel' }
  throw new ModelyardError('worker_exited', 'The worker was killed.')
}

async function* hanging(signal: AbortSignal): PartStream {
  yield { type: 'started', promptTokens: 7, cachedTokens: 2 }
  yield { type: 'text', text: 'Hel' }
  await new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  )
  return RESULT
}

/** In a native step that hears nothing. @returns the script, and what ends the step */
function deaf(): { script: Script; finish: () => void } {
  let finish = (): void => undefined
  const step = new Promise<void>((resolve) => {
    finish = resolve
  })
  async function* script(): PartStream {
    yield { type: 'started', promptTokens: 7, cachedTokens: 2 }
    yield { type: 'text', text: 'Hel' }
    await step
    throw new ModelyardError('aborted', 'The run was given up.')
  }
  return { script, finish: () => finish() }
}

function signalOf(options: Parameters<Lease['run']>[1] = {}): AbortSignal {
  return abortSignalOf(
    'cancellation' in options ? options.cancellation : (options.signal ?? new Cancellation()),
  )
}

function cutterOf(options: Parameters<Lease['run']>[1] = {}): (cause: ModelyardError) => void {
  return (cause) => {
    if ('cancellation' in options) options.cancellation.abort(cause)
  }
}

class Bench {
  readonly clock = new ManualClock(1000)
  readonly rows: RunRecord[] = []
  readonly released: (Fingerprint | undefined)[] = []
  readonly acquired: AcquireRequest[] = []
  readonly surroundings: RunSurroundings

  constructor(scripts: Script[]) {
    const bus = new EventBus(() => 0)
    this.surroundings = {
      clock: this.clock,
      bus,
      log: { append: (row) => this.rows.push(row) },
      crashes: new CrashRecord(this.clock),
      live: new LiveRuns(),
      prepare: (id) => ({ id, capabilities: CAN }),
      acquire: async (request) => this.#lease(request, scripts.shift() ?? answering),
      slowReader: { capacity: 1000, rule: 'pause' },
    }
  }

  stream(task = TASK, more: { signal?: AbortSignal; timeout?: number } = {}): TextStream {
    return new TextStream(startRun(this.surroundings, { model: 'm', task, ...more }))
  }

  async #lease(request: AcquireRequest, script: Script): Promise<Lease> {
    request.signal?.throwIfAborted()
    this.acquired.push(request)
    return {
      id: 'lease',
      model: request.model,
      instance: 'm#1',
      slot: 0,
      keptPrefix: 0,
      waited: { queue: 3, load: 2 },
      savedTime: () => 0,
      reason: 'slot 0 is empty',
      loaded: {} as Lease['loaded'],
      signal: new AbortController().signal,
      run: (_, options) => script(signalOf(options), cutterOf(options)),
      reportPrompt: () => undefined,
      release: (outcome) => void this.released.push(outcome?.fingerprint),
      [Symbol.asyncDispose]: async () => undefined,
    }
  }
}

async function partsOf(stream: TextStream): Promise<Part[]> {
  const parts: Part[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

describe('a run', () => {
  it('gives its parts, counts exactly, returns the slot with what it holds, and writes one row without users’ text (F10)', async () => {
    const bench = new Bench([answering])
    const stream = bench.stream()
    expect(await partsOf(stream)).toEqual([
      { type: 'started', promptTokens: 7, cachedTokens: 2 },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ])
    expect(stream.result).toEqual(RESULT)
    expect(bench.released[0]).toHaveLength(2)
    expect(bench.rows).toHaveLength(1)
    expect(bench.rows[0]).toMatchObject({
      outcome: 'stop',
      promptTokens: 7,
      completionTokens: 2,
      cachedTokens: 2,
      queueMs: 3,
    })
    expect(JSON.stringify(bench.rows)).not.toContain('secret')
  })

  it('is repeated once, unseen, when its worker dies before anything was sent (R11)', async () => {
    const bench = new Bench([dyingAtOnce, answering])
    expect(await bench.stream().text()).toBe('Hello')
    expect(bench.acquired).toHaveLength(2)
    expect(bench.released).toHaveLength(2)
  })

  it('is repeated too when the pool cuts the lease of the dead worker first: a 503 came out of a kill (R11)', async () => {
    const bench = new Bench([cutByDeath, answering])
    expect(await bench.stream().text()).toBe('Hello')
    expect(bench.acquired[1]?.signal?.aborted).toBe(false)
  })

  it('is not repeated for a caller who left in the step in which the worker died', async () => {
    const caller = new AbortController()
    async function* dyingUnderLeaver(_: AbortSignal, cut: (cause: ModelyardError) => void): PartStream {
      yield { type: 'started', promptTokens: 7, cachedTokens: 2 }
      cut(new ModelyardError('worker_exited', 'm#1 ended.'))
      caller.abort()
      throw new ModelyardError('worker_exited', 'The worker was killed.')
    }
    const bench = new Bench([dyingUnderLeaver, answering])
    await expect(bench.stream(TASK, { signal: caller.signal }).text()).rejects.toBeDefined()
    expect(bench.acquired).toHaveLength(1)
  })

  it('is not repeated when the client has seen text: the error comes out', async () => {
    const bench = new Bench([dyingAfterText, answering])
    await expect(bench.stream().text()).rejects.toMatchObject({ code: 'worker_exited' })
    expect(bench.acquired).toHaveLength(1)
    expect(bench.rows[0]?.outcome).toBe('worker_exited')
    expect(bench.released).toEqual([undefined])
  })

  it('that crashes two workers is refused from then on, without touching a worker again (P16)', async () => {
    const bench = new Bench([dyingAtOnce, dyingAtOnce])
    await expect(bench.stream().text()).rejects.toMatchObject({ code: 'request_crashes_worker' })
    await expect(bench.stream().text()).rejects.toMatchObject({ code: 'request_crashes_worker' })
    expect(bench.acquired).toHaveLength(2)
    expect(await bench.stream({ ...TASK, messages: [{ role: 'user', content: 'another' }] }).text()).toBe(
      'Hello',
    )
  })

  it('that was answered between two crashes is no such request: somebody killed its workers', async () => {
    const bench = new Bench([dyingAtOnce, answering, dyingAtOnce, answering, answering])
    for (let turn = 0; turn < 3; turn++) expect(await bench.stream().text()).toBe('Hello')
    expect(bench.acquired).toHaveLength(5)
  })

  it('that never had a worker is not repeated when it is refused for one that died (R11)', async () => {
    const bench = new Bench([])
    let asked = 0
    bench.surroundings.acquire = async () => {
      asked++
      throw new ModelyardError('worker_exited', 'It is tried again in 1 s at the earliest.')
    }
    await expect(bench.stream().text()).rejects.toMatchObject({ code: 'worker_exited' })
    expect(asked).toBe(1)
  })

  it('ends with what was produced and the reason when its time is up (P13)', async () => {
    const bench = new Bench([hanging])
    const stream = bench.stream(TASK, { timeout: 50 })
    const answer = stream.answer()
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    bench.clock.advance(50)
    expect(await answer).toMatchObject({ text: 'Hel', result: { finishReason: 'timeout' } })
    expect(bench.rows[0]?.outcome).toBe('timeout')
    expect(bench.released).toHaveLength(1)
  })

  it('E6: lets its caller go 200 ms after an abort that the engine does not hear; the slot stays the engine’s until it has ended', async () => {
    const { script, finish } = deaf()
    const bench = new Bench([script])
    const controller = new AbortController()
    const answer = bench.stream(TASK, { signal: controller.signal }).answer()
    await new Promise(setImmediate)
    controller.abort()
    bench.clock.advance(199)
    await new Promise(setImmediate)
    expect(bench.rows).toEqual([])
    bench.clock.advance(1)
    expect(await answer).toMatchObject({ text: 'Hel', result: { finishReason: 'abort' } })
    expect(bench.released).toEqual([])
    finish()
    await new Promise(setImmediate)
    expect(bench.released).toEqual([undefined])
  })

  it('ends with what was produced when the caller aborts (P13)', async () => {
    const controller = new AbortController()
    const bench = new Bench([hanging])
    const answer = bench.stream(TASK, { signal: controller.signal }).answer()
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    controller.abort()
    expect(await answer).toMatchObject({ text: 'Hel', result: { finishReason: 'abort' } })
  })

  it('with a signal that fired before never takes a slot', async () => {
    const bench = new Bench([answering])
    const answer = await bench.stream(TASK, { signal: AbortSignal.abort() }).answer()
    expect(answer.result.finishReason).toBe('abort')
    expect(bench.acquired).toHaveLength(0)
  })

  it('breaking out of the loop gives the slot back', async () => {
    const bench = new Bench([hanging])
    for await (const part of bench.stream()) if (part.type === 'text') break
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    expect(bench.released).toHaveLength(1)
  })

  it.each<[string, ChatTask]>([
    ['tools', { ...TASK, tools: [{ name: 'f', parameters: {} }] }],
    ['structured-output', { ...TASK, format: { type: 'json-object' } }],
    ['logprobs', { ...TASK, topLogprobs: 0 }],
    [
      'images',
      {
        ...TASK,
        messages: [
          { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: new Uint8Array() }] },
        ],
      },
    ],
  ])('that needs %s is refused before anything is loaded when the engine lacks it', async (feature, task) => {
    const bench = new Bench([])
    await expect(bench.stream(task).text()).rejects.toMatchObject({
      code: 'unsupported',
      details: { feature },
    })
    expect(bench.acquired).toHaveLength(0)
  })

  it('tools that are offered but forbidden by toolChoice none need no tools', async () => {
    const bench = new Bench([answering])
    expect(
      await bench.stream({ ...TASK, tools: [{ name: 'f', parameters: {} }], toolChoice: 'none' }).text(),
    ).toBe('Hello')
  })
})
