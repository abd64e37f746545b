import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Output, wantsColor } from './output.ts'

describe('Output', () => {
  it('waits for a slow reader', async () => {
    let take: (() => void) | undefined
    const slow = new Writable({ highWaterMark: 1, write: (_data, _encoding, done) => (take = done) })
    const written = new Output(slow).write('more than fits')
    const first = await Promise.race([written.then(() => 'written'), Promise.resolve('waiting')])
    expect(first).toBe('waiting')
    take?.()
    await written
  })

  it('a reader that has gone is no error, and nothing is written for it any more', async () => {
    const stream = new PassThrough()
    const output = new Output(stream)
    stream.destroy(Object.assign(new Error('gone'), { code: 'EPIPE' }))
    await new Promise((resolve) => stream.once('close', resolve))
    expect(output.open).toBe(false)
    await output.line('nobody reads this')
    await output.flush()
  })

  it('a full disk under the output is told as a failure, not thrown', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    const output = new Output(new Writable({ write: (_data, _encoding, done) => done(full) }))
    await output.line('lost')
    await output.flush()
    expect([output.open, output.failure?.code, output.failure?.message]).toEqual([
      false,
      'disk_full',
      expect.stringContaining('no space left'),
    ])
  })

  it('colours follow the terminal and the conventions of NO_COLOR and FORCE_COLOR', () => {
    expect(wantsColor(true)).toBe(true)
    expect(wantsColor(false)).toBe(false)
    expect(wantsColor(true, { NO_COLOR: '1' })).toBe(false)
    expect(wantsColor(true, { NO_COLOR: '' })).toBe(true)
    expect(wantsColor(false, { FORCE_COLOR: '1' })).toBe(true)
    expect(wantsColor(true, { FORCE_COLOR: '0' })).toBe(false)
    expect(wantsColor(true, { NO_COLOR: '1', FORCE_COLOR: '1' })).toBe(false)
    expect(wantsColor(true, { TERM: 'dumb' })).toBe(false)
  })
})
