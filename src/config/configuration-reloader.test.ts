import { describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import type { ConfigurationChange } from './configuration-change.ts'
import { ConfigurationReloader } from './configuration-reloader.ts'
import { yardDirectories } from './directories.ts'
import { parseConfiguration } from './parse-configuration.ts'
import type { YardConfiguration } from './yard-configuration.ts'

const directories = yardDirectories({ MODELYARD_HOME: '/yard' }, '/')
const parse = (input: unknown): YardConfiguration =>
  parseConfiguration(input, { directories, directory: '/' })

interface Bench {
  clock: ManualClock
  changes: ConfigurationChange[]
  reloader: ConfigurationReloader
  /** What the file holds; an error cannot be read. */
  file: { content: unknown }
  reads: number
  settle: () => Promise<void>
}

function bench(start: unknown): Bench {
  const clock = new ManualClock()
  const changes: ConfigurationChange[] = []
  const file: Bench['file'] = { content: start }
  const setup: Bench = {
    clock,
    changes,
    file,
    reads: 0,
    settle: async () => {
      for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    },
    reloader: new ConfigurationReloader({
      clock,
      file: '/yard/modelyard.yaml',
      current: parse(start),
      load: async () => {
        setup.reads++
        if (file.content instanceof Error) throw file.content
        return parse(file.content)
      },
      onChange: (change) => changes.push(change),
    }),
  }
  return setup
}

describe('ConfigurationReloader', () => {
  it('reads five saves within 300 ms once, a half-written one among them (BR-44)', async () => {
    const setup = bench({ models: { a: './a.gguf', b: './b.gguf' } })
    const { clock, changes, reloader, file, settle } = setup
    for (const content of [
      {},
      new Error('half'),
      {},
      {},
      { models: { a: './a.gguf', c: './c.gguf', b: { source: './b.gguf', slots: 1 } } },
    ]) {
      file.content = content
      reloader.touched()
      clock.advance(60)
      await settle()
    }
    expect(changes).toEqual([])
    clock.advance(300)
    await settle()
    expect(changes).toMatchObject([
      { type: 'reloaded', difference: { added: ['c'], removed: [], changed: ['b'], settings: [] } },
    ])
    expect(setup.reads).toBe(1)
  })

  it('reports removed models and changed settings', async () => {
    const { clock, changes, reloader, file, settle } = bench({ models: { a: './a.gguf', b: './b.gguf' } })
    file.content = { models: { b: './b.gguf' }, limits: { queue: 1 } }
    reloader.touched()
    clock.advance(300)
    await settle()
    expect(changes).toMatchObject([
      { difference: { added: [], removed: ['a'], changed: [], settings: ['limits'] } },
    ])
  })

  it('says nothing of an edit that means the same (BR-44)', async () => {
    const { clock, changes, reloader, file, settle } = bench({ keepAlive: 60 })
    file.content = { keepAlive: '1m' }
    reloader.touched()
    clock.advance(300)
    await settle()
    expect(changes).toEqual([])
  })

  it('keeps the old one when the new one is wrong, says so once, and takes the repaired one (BR-44)', async () => {
    const { clock, changes, reloader, file, settle } = bench({ keepAlive: 60 })
    const save = async (content: unknown): Promise<void> => {
      file.content = content
      reloader.touched()
      clock.advance(300)
      await settle()
    }
    await save({ keepAlvie: 5 })
    await save({ keepAlvie: 5 })
    expect(changes).toMatchObject([
      { type: 'rejected', message: expect.stringContaining('keepAlive') as string },
    ])
    await save({ keepAlive: 60 })
    expect(changes).toHaveLength(1)
    await save({ drain: { timeout: 61 } })
    expect(changes[1]).toMatchObject({ type: 'reloaded', difference: { settings: ['drain', 'keepAlive'] } })
  })

  it('reads again when the file was saved during a read', async () => {
    const clock = new ManualClock()
    const changes: ConfigurationChange[] = []
    const waiting: ((value: YardConfiguration) => void)[] = []
    const reloader = new ConfigurationReloader({
      clock,
      file: '/f',
      current: parse({}),
      load: () => new Promise((resolve) => waiting.push(resolve)),
      onChange: (change) => changes.push(change),
    })
    reloader.touched()
    clock.advance(300)
    reloader.touched()
    clock.advance(300)
    expect(waiting).toHaveLength(1)
    waiting[0]?.(parse({ limits: { queue: 1 } }))
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    clock.advance(300)
    expect(waiting).toHaveLength(2)
    waiting[1]?.(parse({ limits: { queue: 2 } }))
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    expect(changes.map((change) => change.type === 'reloaded' && change.configuration.limits.queue)).toEqual([
      1, 2,
    ])
  })

  it('is silent after it was closed', async () => {
    const { clock, changes, reloader, file, settle } = bench({})
    file.content = { limits: { queue: 1 } }
    reloader.touched()
    await reloader.close()
    reloader.touched()
    clock.advance(1000)
    await settle()
    expect(changes).toEqual([])
  })
})
