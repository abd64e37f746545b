import { describe, expect, it } from 'vitest'
import type { InstanceStatus } from '../../pool/pool-status.ts'
import { createDesk } from '../test-desk.ts'
import { load } from './load.ts'

function copy(contextSize: number, changes: Partial<InstanceStatus> = {}): InstanceStatus {
  return {
    id: 'tiny#1',
    model: 'tiny',
    state: 'ready',
    contextSize,
    threads: 1,
    slots: [0, 1].map((index) => ({ index, leased: false, cached: 0 })),
    leases: 0,
    booked: {},
    estimated: {},
    idleFor: 0,
    expiresIn: null,
    ...changes,
  }
}

describe('modelyard load', () => {
  it.each([
    [{}, 'tiny is in memory after 0 ms.'],
    [{ context: 8192, slots: 2 }, 'tiny is in memory after 0 ms.'],
    [
      { context: 16_384 },
      'tiny is in memory after 0 ms, with 8192 tokens per slot, as it was trained for no more (16384 asked).',
    ],
    [{ context: 1024 }, 'tiny is in memory after 0 ms, with 8192 tokens per slot (1024 asked).'],
    [{ slots: 1 }, 'tiny is in memory after 0 ms, with 2 slots (1 asked).'],
    [
      { context: 1024, slots: 1 },
      'tiny is in memory after 0 ms, with 8192 tokens per slot (1024 asked) and 2 slots (1 asked).',
    ],
  ])('asked for %j, it says what was granted where that is something else', async (asked, words) => {
    const { context, yard, out } = createDesk()
    yard.server = { pid: 1, url: 'http://127.0.0.1:1' }
    // The copy that makes way, and another model's, are not what was loaded.
    yard.instances = [
      copy(512, { id: 'tiny#0', state: 'draining' }),
      copy(8192),
      copy(64, { id: 'other#1', model: 'other' }),
    ]
    await load(context, 'tiny', asked)
    expect(out()).toBe(`${words}\n`)
  })

  it('--json has what was granted, and null where the copy has gone already', async () => {
    const { context, yard, out } = createDesk()
    yard.server = { pid: 1, url: 'http://127.0.0.1:1' }
    yard.instances = [copy(8192)]
    await load(context, 'tiny', { context: 16_384, json: true })
    expect(JSON.parse(out())).toEqual({ model: 'tiny', state: 'unloaded', contextSize: 8192, slots: 2 })
    yard.instances = []
    const later = createDesk()
    later.yard.server = yard.server
    await load(later.context, 'tiny', { json: true })
    expect(JSON.parse(later.out())).toMatchObject({ contextSize: null, slots: null })
  })
})
