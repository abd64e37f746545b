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

/** A copy of slot 1 into slot 0, ordered while `lease` answered there; `holder` is there when the disk is ready. */
async function copySlot(holder?: string, lease?: string): Promise<{ saved: number[]; facts: string[] }> {
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
  const parking = new SlotParking({ clock: new ManualClock(), shelf, report, leaseOn: () => holder })
  const order = { ...ORDER, ...(lease !== undefined && { lease }) }
  const command = { park: [order], restore: 'context-1', instance: 'm#1', slot: 0, lease: 'lease-1' }
  await parking.prepare(loaded, command as unknown as CommandOf<'grant-lease'>)
  return { saved, facts: facts.map(({ type }) => type) }
}

describe('a beginning that is copied from another slot', () => {
  it('is written and read', async () => {
    const { saved, facts } = await copySlot()
    expect(saved).toEqual([1])
    expect(facts).toContain('park-finished')
  })

  it('is so while the run answers that has computed it, and no longer when another one is there', async () => {
    expect((await copySlot('lease-7', 'lease-7')).saved).toEqual([1])
    expect((await copySlot(undefined, 'lease-7')).saved).toEqual([1])
    expect((await copySlot('lease-8', 'lease-7')).saved).toEqual([])
  })

  it('is not, when somebody has been given that slot meanwhile: its file would hold another conversation', async () => {
    const { saved, facts } = await copySlot('lease-2')
    expect(saved).toEqual([])
    expect(facts).toEqual(['park-failed', 'restore-finished'])
  })
})
