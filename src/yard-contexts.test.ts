import { describe, expect, it } from 'vitest'
import { ManualClock } from './base/clock.ts'
import type { ContextFolder } from './contexts/context-folder.ts'
import { EventBus } from './events/event-bus.ts'
import type { YardEvent } from './events/event-map.ts'
import type { Pool } from './pool/pool.ts'
import { adoptContexts } from './yard-contexts.ts'

const GIB = 1024 ** 3

/** What is said when a server starts whose disk has so much room for contexts. */
async function warningsWith(room: number, reclaimed = { files: 0, bytes: 0 }): Promise<string[]> {
  const clock = new ManualClock()
  const bus = new EventBus(() => clock.wallTime())
  const events: YardEvent[] = []
  bus.subscribe((event) => events.push(event))
  const adopted: number[] = []
  const pool = { adoptContexts: (_: unknown, given: number) => adopted.push(given) } as unknown as Pool
  const folder = {
    open: async () => ({ contexts: [], reclaimed }),
    room: async () => room,
  } as unknown as ContextFolder
  await adoptContexts(pool, folder, { clock, bus })
  expect(adopted).toEqual([room])
  return events.flatMap((event) => (event.name === 'warning-raised' ? [event.data.message] : []))
}

describe('a server that starts', () => {
  it('BR-56: warns when a tenth of the free space is little room for contexts, with the number; else it says nothing', async () => {
    expect(await warningsWith(100 * 1024 ** 2)).toEqual([
      'Only 100 MiB may be used for parked contexts: a tenth of what the disk has free.',
    ])
    expect(await warningsWith(0)).toHaveLength(1)
    expect(await warningsWith(GIB)).toEqual([])
  })

  it('BR-54: says how many files were of no use, and what they took', async () => {
    expect(await warningsWith(GIB, { files: 3, bytes: 5 * GIB })).toEqual([
      '3 files of parked contexts were of no use and are deleted (5 GiB).',
    ])
  })
})
