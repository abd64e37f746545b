import { PassThrough } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import type { InstanceStatus, TicketStatus } from '../../pool/pool-status.ts'
import { Output } from '../output.ts'
import { describeWait, WaitingNote } from './waiting.ts'

function instance(state: InstanceStatus['state'], progress?: number): InstanceStatus {
  return { model: 'm', state, ...(progress !== undefined && { progress }) } as InstanceStatus
}

function screen(isTTY: boolean): { err: Output; shown: () => string } {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 40 })
  let text = ''
  stream.on('data', (data: Buffer) => (text += data.toString()))
  return { err: new Output(stream, { NO_COLOR: '1' }), shown: () => text }
}

describe('what an answer waits for', () => {
  it('is its load, its warm-up, or its place in the queue with the reason', () => {
    const ticket = { model: 'm', position: 2, reason: 'the slots are busy' } as TicketStatus
    expect(describeWait({ instances: [instance('loading', 0.5)], queue: [] }, 'm')).toBe('loading m 50 %')
    expect(describeWait({ instances: [instance('loading')], queue: [] }, 'm')).toBe('loading m')
    expect(describeWait({ instances: [instance('warming')], queue: [] }, 'm')).toBe('preparing m')
    expect(describeWait({ instances: [instance('ready')], queue: [ticket] }, 'm')).toBe(
      'waiting (place 2): the slots are busy',
    )
    expect(describeWait({ instances: [instance('ready')], queue: [] }, 'm')).toBeUndefined()
    expect(describeWait({ instances: [instance('loading')], queue: [ticket] }, 'other')).toBeUndefined()
  })

  it('is shown on a terminal after a while and goes away without a trace', async () => {
    const { err, shown } = screen(true)
    const clock = new ManualClock()
    const note = new WaitingNote(err, clock, () => Promise.resolve('loading m'))
    clock.advance(300)
    expect(shown()).toBe('')
    clock.advance(200)
    await vi.waitFor(() => expect(shown()).toBe('\r\u001B[Kloading m'), 20_000)
    await note.stop()
    await note.stop()
    expect(shown()).toBe('\r\u001B[Kloading m\r\u001B[K')
    clock.advance(5000)
    expect(shown()).toBe('\r\u001B[Kloading m\r\u001B[K')
  })

  it('never fills more than a line, and a look that fails shows nothing', async () => {
    const { err, shown } = screen(true)
    const clock = new ManualClock()
    const looks = [Promise.reject(new Error('gone')), Promise.resolve('x'.repeat(100))]
    const note = new WaitingNote(err, clock, () => looks.shift() ?? Promise.resolve(undefined))
    clock.advance(400)
    await vi.waitFor(() => expect(looks).toHaveLength(1), 20_000)
    await Promise.resolve()
    await vi.waitFor(() => {
      clock.advance(400)
      expect(shown()).toBe(`\r\u001B[K${'x'.repeat(38)}`)
    })
    await note.stop()
  })

  it('away from a terminal is silent, or a line every so often where that was asked for', async () => {
    const { err, shown } = screen(false)
    const clock = new ManualClock()
    const silent = new WaitingNote(err, clock, () => Promise.resolve('waiting'))
    const telling = new WaitingNote(err, clock, () => Promise.resolve('installing'), { logEvery: 5000 })
    clock.advance(4999)
    expect(shown()).toBe('')
    clock.advance(1)
    await vi.waitFor(() => expect(shown()).toBe('installing\n'), 20_000)
    await silent.stop()
    await telling.stop()
    expect(shown()).toBe('installing\n')
  })
})
