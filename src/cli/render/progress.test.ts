import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { Output } from '../output.ts'
import { createProgressView, describeStep } from './progress.ts'

function log(): { err: Output; lines: () => string[] } {
  const stream = new PassThrough()
  let text = ''
  stream.on('data', (data: Buffer) => (text += data.toString()))
  return { err: new Output(stream), lines: () => text.split('\n').filter((line) => line !== '') }
}

describe('progress', () => {
  it('away from a terminal there is at most one line a second', async () => {
    const { err, lines } = log()
    const clock = new ManualClock()
    const view = await createProgressView(err, clock)
    for (let step = 0; step < 30; step++) {
      view.update({ label: 'model.gguf', received: step * 100, total: 3000, bytesPerSecond: 1000 })
      clock.advance(100)
    }
    expect(lines()).toEqual([
      'model.gguf 0%  0 B of 2.9 KiB, 1000 B/s, 3 s left',
      'model.gguf 33%  1000 B of 2.9 KiB, 1000 B/s, 2 s left',
      'model.gguf 66%  2 KiB of 2.9 KiB, 1000 B/s, 1 s left',
    ])
  })

  it('a step that has not moved is not told again', async () => {
    const { err, lines } = log()
    const clock = new ManualClock()
    const view = await createProgressView(err, clock)
    for (let step = 0; step < 3; step++) {
      view.update({ label: 'model.gguf', received: 0, total: 2048, bytesPerSecond: 0 })
      clock.advance(2000)
    }
    expect(lines()).toEqual(['model.gguf 0%  0 B of 2 KiB'])
  })

  it('the end of a download is told once, however long it takes to be over', async () => {
    const { err, lines } = log()
    const clock = new ManualClock()
    const view = await createProgressView(err, clock)
    for (const bytesPerSecond of [1024, 512, 256, 128]) {
      view.update({ label: 'model.gguf', received: 2048, total: 2048, bytesPerSecond })
      clock.advance(2000)
    }
    view.update({ label: 'model.gguf', received: 1024, total: 2048, bytesPerSecond: 0 })
    expect(lines()).toEqual(['model.gguf 100%  2 KiB of 2 KiB, 1 KiB/s', 'model.gguf 50%  1 KiB of 2 KiB'])
  })

  it('a new file has its line at once', async () => {
    const { err, lines } = log()
    const view = await createProgressView(err, new ManualClock())
    view.update({ label: 'one', received: 1, total: null, bytesPerSecond: 0 })
    view.update({ label: 'two', received: 1, total: null, bytesPerSecond: 0 })
    expect(lines()).toEqual(['one  1 B', 'two  1 B'])
  })

  it('says nothing of the time left when the end is unknown or reached', () => {
    const step = { label: '', received: 2048, total: null, bytesPerSecond: 1024 }
    expect(describeStep(step)).toBe('2 KiB, 1 KiB/s')
    expect(describeStep({ ...step, total: 2048 })).toBe('2 KiB of 2 KiB, 1 KiB/s')
  })

  it('on a terminal it is a bar that goes away at the end', async () => {
    const stream = Object.assign(new PassThrough(), {
      isTTY: true,
      columns: 100,
      cursorTo: () => true,
      clearLine: () => true,
      moveCursor: () => true,
    })
    let text = ''
    stream.on('data', (data: Buffer) => (text += data.toString()))
    const view = await createProgressView(new Output(stream), new ManualClock())
    view.stop()
    view.update({ label: 'model.gguf', received: 50, total: 100, bytesPerSecond: 10 })
    view.update({ label: 'model.gguf', received: 100, total: 100, bytesPerSecond: 10 })
    view.stop()
    expect(text).toContain('█')
    expect(text).toContain('model.gguf')
  })
})
