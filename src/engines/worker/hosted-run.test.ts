import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { Part, PartStream, Result } from '../../tasks/part.ts'
import { NO_USAGE } from '../../tasks/usage.ts'
import { HostedRun } from './hosted-run.ts'
import { PART_WINDOW, type FromWorker } from './protocol.ts'

const RESULT: Result = { finishReason: 'stop', usage: NO_USAGE, timings: { prefill: 0, decode: 0 } }

interface Rig {
  run: HostedRun
  sent: FromWorker[]
  texts: () => string
}

/** Writes are done at once, as on a channel that is not full. */
function rig(): Rig {
  const sent: FromWorker[] = []
  const run = new HostedRun(
    5,
    (message, done) => {
      sent.push(message)
      done?.()
    },
    new ManualClock(),
  )
  const texts = (): string =>
    sent
      .flatMap((message) => (message.type === 'parts' ? message.parts : []))
      .map((part) => (part.type === 'text' ? part.text : ''))
      .join('')
  return { run, sent, texts }
}

async function* stream(
  parts: number,
  seen: { made: number; closed: boolean },
  signal?: AbortSignal,
): PartStream {
  try {
    for (; seen.made < parts; seen.made++) {
      signal?.throwIfAborted()
      yield { type: 'text', text: '.' } satisfies Part
    }
    return RESULT
  } finally {
    seen.closed = true
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 2000; turn++) await Promise.resolve()
}

describe('a run inside the worker', () => {
  it('ends with its result after all parts', async () => {
    const { run, sent, texts } = rig()
    await run.pump(() => stream(3, { made: 0, closed: false }))
    expect(texts()).toBe('...')
    expect(sent.at(-1)).toEqual({ type: 'result', id: 5, result: RESULT })
  })

  it('pauses when the window is full and goes on with the credit given', async () => {
    const { run, texts } = rig()
    const seen = { made: 0, closed: false }
    const pumping = run.pump(() => stream(PART_WINDOW + 100, seen))
    await turns()
    expect(texts()).toHaveLength(PART_WINDOW)
    run.grant(10)
    await turns()
    expect(texts()).toHaveLength(PART_WINDOW + 10)
    run.grant(1000)
    await pumping
    expect(texts()).toHaveLength(PART_WINDOW + 100)
  })

  it('that is cancelled during a pause lets the engine free the slot, and says so', async () => {
    const { run, sent } = rig()
    const seen = { made: 0, closed: false }
    const pumping = run.pump(() => stream(1e9, seen))
    await turns()
    run.cancel()
    await pumping
    expect(seen.closed).toBe(true)
    expect(sent.at(-1)).toMatchObject({ type: 'failed', id: 5, error: { code: 'aborted' } })
  })

  it('names the reason of a cut, whatever the engine throws then', async () => {
    const { run, sent } = rig()
    const pumping = run.pump(() => stream(1e9, { made: 0, closed: false }, run.signal))
    await turns()
    run.cancel(new ModelyardError('run_cut', 'cut'))
    await pumping
    expect(sent.at(-1)).toMatchObject({ type: 'failed', error: { code: 'run_cut' } })
  })

  it('fails with what the engine threw, also at the very start, and with details that can cross', async () => {
    const { run, sent } = rig()
    const details = { need: 5, odd: () => undefined }
    await run.pump(() => {
      throw new ModelyardError('context_length_exceeded', 'too long', { details })
    })
    expect(sent).toEqual([
      {
        type: 'failed',
        id: 5,
        error: { code: 'context_length_exceeded', message: 'too long', details: { need: 5 } },
      },
    ])
  })
})
