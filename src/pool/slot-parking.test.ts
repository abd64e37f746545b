import { describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import type { LoadedModel } from '../engines/engine.ts'
import type { ContextShelf } from './context-shelf.ts'
import type { CommandOf, ParkOrder, PoolFact } from './policy/messages.ts'
import { SlotParking } from './slot-parking.ts'

const ORDER: ParkOrder = {
  context: 'context-1',
  model: 'm',
  slot: 1,
  identity: 'i',
  chain: [],
  tokens: 5,
  worth: 1,
}

/** A copy of slot 1 into slot 0, of which another lease may have taken slot 1 before the disk is ready. */
async function copySlot(isTaken: boolean): Promise<{ saved: number[]; facts: string[] }> {
  const saved: number[] = []
  const facts: PoolFact[] = []
  const shelf = {
    park: async (_: ParkOrder, write: (path: string) => Promise<void>) => {
      await write('/nowhere')
      return { bytes: 1 }
    },
    room: async () => 1,
    pathOf: () => '/nowhere',
  } as unknown as ContextShelf
  const loaded = {
    saveSlot: async (slot: number) => {
      saved.push(slot)
      return { tokens: 5, bytes: 1 }
    },
    restoreSlot: async () => saved.length > 0,
  } as unknown as LoadedModel
  const report = (fact: PoolFact): unknown => facts.push(fact)
  const parking = new SlotParking({ clock: new ManualClock(), shelf, report, isTaken: () => isTaken })
  const command = { park: [ORDER], restore: 'context-1', instance: 'm#1', slot: 0, lease: 'lease-1' }
  await parking.prepare(loaded, command as unknown as CommandOf<'grant-lease'>)
  return { saved, facts: facts.map(({ type }) => type) }
}

describe('a beginning that is copied from another slot', () => {
  it('is written and read', async () => {
    const { saved, facts } = await copySlot(false)
    expect(saved).toEqual([1])
    expect(facts).toContain('park-finished')
  })

  it('is not, when somebody has been given that slot meanwhile: its file would hold another conversation', async () => {
    const { saved, facts } = await copySlot(true)
    expect(saved).toEqual([])
    expect(facts).toEqual(['park-failed', 'restore-finished'])
  })
})
