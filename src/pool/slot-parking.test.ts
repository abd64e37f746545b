import { describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import type { LoadedModel, SavedSlot } from '../engines/engine.ts'
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

interface Scene {
  /** What was done, in order. */
  steps: string[]
  facts: string[]
  prepare: (command: Partial<CommandOf<'grant-lease'>>) => Promise<unknown>
}

/** `shelf` and `loaded` take the place of what works at once and whole; `holder` is there when the disk is ready. */
function scene(
  change: { shelf?: Partial<ContextShelf>; loaded?: Partial<LoadedModel>; holder?: string } = {},
): Scene {
  const steps: string[] = []
  const facts: PoolFact[] = []
  const shelf = {
    park: async (_: ParkOrder, write: (path: string) => Promise<unknown>) => {
      await write('/nowhere')
      return { bytes: 1, placed: Promise.resolve(), settled: Promise.resolve() }
    },
    room: async () => 1,
    placeOf: async () => '/nowhere',
    ...change.shelf,
  } as unknown as ContextShelf
  const loaded = {
    saveSlot: async (slot: number) => {
      steps.push(`save ${slot}`)
      return { tokens: 5, bytes: 1 }
    },
    checkSlotFile: async (path: string) => {
      steps.push(`check ${path}`)
      return true
    },
    restoreSlot: async (slot: number, _: string, isWhole?: boolean) => {
      steps.push(`restore ${slot}, ${isWhole ?? 'unchecked'}`)
      return isWhole !== false
    },
    ...change.loaded,
  } as unknown as LoadedModel
  const report = (fact: PoolFact): unknown => facts.push(fact)
  const leaseOn = (): string | undefined => change.holder
  const parking = new SlotParking({ clock: new ManualClock(), shelf, report, leaseOn })
  return {
    steps,
    get facts() {
      return facts.map(({ type }) => type)
    },
    prepare: async (command) => {
      const whole = { instance: 'm#1', slot: 0, lease: 'lease-1', ...command }
      return parking.prepare(loaded, whole as CommandOf<'grant-lease'>)
    },
  }
}

const tick = async (): Promise<void> => new Promise((done) => setImmediate(done))

describe('a beginning that is copied from another slot', () => {
  /** A copy of slot 1 into slot 0, ordered while `lease` answered there. */
  async function copySlot(holder?: string, lease?: string): Promise<Scene> {
    const all = scene(holder === undefined ? {} : { holder })
    const order = { ...ORDER, ...(lease !== undefined && { lease }) }
    await all.prepare({ park: [order], restore: 'context-1' })
    return all
  }

  it('is written, then checked and read', async () => {
    const { steps, facts } = await copySlot()
    expect(steps).toEqual(['save 1', 'check /nowhere', 'restore 0, true'])
    expect(facts).toContain('park-finished')
  })

  it('is so while the run answers that has computed it, and no longer when another one is there', async () => {
    expect((await copySlot('lease-7', 'lease-7')).steps).toContain('save 1')
    expect((await copySlot(undefined, 'lease-7')).steps).toContain('save 1')
    expect((await copySlot('lease-8', 'lease-7')).steps).not.toContain('save 1')
  })

  it('is not, when somebody has been given that slot meanwhile: its file would hold another conversation', async () => {
    const { steps, facts } = await copySlot('lease-2')
    expect(steps).not.toContain('save 1')
    expect(facts.filter((type) => type !== 'context-room-measured')).toEqual([
      'park-failed',
      'restore-finished',
    ])
  })
})

describe('a conversation that takes the slot of another', () => {
  it('has its file checked while the other is still being written, and read when the slot is free', async () => {
    let free: () => void = () => undefined
    const written = new Promise<SavedSlot>((done) => {
      free = () => done({ tokens: 5, bytes: 1 })
    })
    const { steps, prepare } = scene({ loaded: { saveSlot: () => written } })
    const prepared = prepare({ park: [ORDER], restore: 'context-7' })
    await tick()
    expect(steps).toEqual(['check /nowhere'])
    free()
    expect(await prepared).toMatchObject({ holds: true })
    expect(steps).toEqual(['check /nowhere', 'restore 0, true'])
  })

  it('does not wait until the file of the other is whole', async () => {
    const never = new Promise<void>(() => undefined)
    const all = scene({ shelf: { park: async () => ({ bytes: 1, placed: never, settled: never }) } })
    expect(await all.prepare({ park: [ORDER], restore: 'context-7' })).toMatchObject({ holds: true })
    expect(all.facts).toContain('park-finished')
  })

  it('starts from nothing when its own file is damaged, or cannot be looked at', async () => {
    const damaged = scene({ loaded: { checkSlotFile: async () => false } })
    expect(await damaged.prepare({ park: [ORDER], restore: 'context-7' })).toMatchObject({ holds: false })
    const unreadable = scene({ shelf: { placeOf: () => Promise.reject(new Error('no')) } })
    expect(await unreadable.prepare({ restore: 'context-7' })).toMatchObject({ holds: false })
  })

  it('has its file checked by the engine as it reads, where the engine does not tell before', async () => {
    const { steps, prepare } = scene({
      loaded: { checkSlotFile: undefined } as unknown as Partial<LoadedModel>,
    })
    await prepare({ restore: 'context-7' })
    expect(steps).toEqual(['restore 0, unchecked'])
  })
})

it('a file is told as safe when the disk has it, and never when it has not', async () => {
  let safe: () => void = () => undefined
  const settled = new Promise<void>((done) => {
    safe = done
  })
  const all = scene({ shelf: { park: async () => ({ bytes: 1, placed: Promise.resolve(), settled }) } })
  await all.prepare({ park: [ORDER] })
  await tick()
  expect(all.facts).not.toContain('park-settled')
  safe()
  await tick()
  expect(all.facts).toContain('park-settled')
})

it('a file that does not become whole after its slot was given away is told as one that could not be written', async () => {
  const placed = Promise.reject(new Error('the disk is full'))
  placed.catch(() => undefined)
  const all = scene({ shelf: { park: async () => ({ bytes: 1, placed, settled: placed }) } })
  await all.prepare({ park: [ORDER] })
  await tick()
  expect(all.facts.filter((type) => type !== 'context-room-measured')).toEqual([
    'park-finished',
    'park-failed',
  ])
})
