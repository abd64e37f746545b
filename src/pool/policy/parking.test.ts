import { describe, expect, it } from 'vitest'
import type { Fingerprint } from '../../tasks/fingerprint.ts'
import { requestChain } from '../simulation/conversations.ts'
import { newWorld, sized } from '../simulation/scenario.ts'
import type { SimulatedModel } from '../simulation/simulated-model.ts'
import type { VisitRequest, Visitor } from '../simulation/visitor.ts'
import type { World } from '../simulation/world.ts'
import { bytesParked } from './context-budget.ts'
import type { PoolCommand } from './messages.ts'
import type { ParkedContext } from './state.ts'

const turn = (conversation: string, number = 0): ReturnType<typeof requestChain> =>
  requestChain(conversation, conversation, number)

/** Sends a request and waits until it is answered. */
function visit(world: World, request: Partial<VisitRequest>): Visitor {
  const visitor = world.request({ model: 'm', hold: 100, ...request })
  world.run(world.now + 2000)
  return visitor
}

interface Setting {
  world: World
  commands: PoolCommand[]
}

/** One model that parks, by default with one slot; no write and no read fails. */
function setting(
  parking: { mode: 'off' | 'worth' | 'always'; budget?: number },
  more: Partial<SimulatedModel> = {},
): Setting {
  const commands: PoolCommand[] = []
  const world = newWorld({
    limits: { parking },
    seed: 3,
    observe: ({ decision }) => commands.push(...decision.commands),
  })
  world.machine.shelf.isReliable = true
  world.declare(sized('m', 10, { parks: true, keepAlive: -1, ...more }))
  return { world, commands }
}

const ofType = <Type extends PoolCommand['type']>(
  commands: PoolCommand[],
  type: Type,
): Extract<PoolCommand, { type: Type }>[] =>
  commands.filter((command): command is Extract<PoolCommand, { type: Type }> => command.type === type)

describe('contexts that survive (R16)', () => {
  it('are parked before their slot is given to another conversation, and read back when it goes on', () => {
    const { world } = setting({ mode: 'worth' })
    visit(world, { chain: turn('a') })
    expect(visit(world, { chain: turn('b') }).granted).toMatchObject({ park: [{ slot: 0, tokens: 750 }] })
    const back = visit(world, { chain: turn('a', 1) })
    expect(back.granted).toMatchObject({ restore: 'context-1', keptPrefix: 3 })
    expect(back.granted?.reason).toBe('slot 0 of m#1, from context-1 on disk: 3 of 4 blocks, of 750 tokens')
  })

  it.each(['evicted', 'idle', 'operator', 'stop'] as const)(
    'are parked when the instance goes: %s',
    (cause) => {
      const { world, commands } = setting(
        { mode: 'worth' },
        { slots: 2, keepAlive: cause === 'idle' ? 5000 : -1 },
      )
      world.declare(sized('other', 95))
      visit(world, { chain: turn('a') })
      visit(world, { chain: turn('b') })
      if (cause === 'evicted') visit(world, { model: 'other' })
      if (cause === 'idle') world.run(world.now + 10_000)
      if (cause === 'operator') world.unload('m')
      if (cause === 'stop') world.send({ type: 'stop-requested', deadline: 0 })
      world.run(world.now + 1000)
      expect(ofType(commands, 'start-unload')).toMatchObject([{ park: [{ slot: 0 }, { slot: 1 }] }])
      expect(world.state.contexts.parked.map(({ writer }) => writer)).toEqual([undefined, undefined])
    },
  )

  it('of a model that was removed are deleted with it, and nothing more is written', () => {
    const { world, commands } = setting({ mode: 'worth' })
    visit(world, { chain: turn('a') })
    visit(world, { chain: turn('b') })
    world.withdraw('m')
    world.run(world.now + 1000)
    expect(world.state.contexts.parked).toEqual([])
    expect(world.machine.shelf.bytes).toBe(0)
    expect(ofType(commands, 'start-unload')).toMatchObject([{ instance: 'm#1' }])
    expect(ofType(commands, 'start-unload')[0]?.park).toBeUndefined()
  })

  it.each([
    ['parking is off', { mode: 'off' } as const, {}],
    ['the model does not want it', { mode: 'always' } as const, { parking: false }],
    ['the engine cannot', { mode: 'always' } as const, { parks: false }],
    ['there is no room on the disk', { mode: 'always', budget: 1000 } as const, {}],
  ])('are lost when %s', (_why, parking, model) => {
    const { world, commands } = setting(parking, model)
    visit(world, { chain: turn('a') })
    visit(world, { chain: turn('b') })
    expect(visit(world, { chain: turn('a', 1) }).granted).toMatchObject({ keptPrefix: 0 })
    expect(ofType(commands, 'grant-lease').filter(({ park, restore }) => park ?? restore)).toEqual([])
  })

  it('are not written when to compute them again is quicker', () => {
    const { world, commands } = setting({ mode: 'worth' })
    const quick = { promptTokens: 500, cachedTokens: 0, completionTokens: 1, prefill: 5 }
    for (const name of ['a', 'b', 'c']) visit(world, { chain: turn(name), usage: quick })
    expect(ofType(commands, 'grant-lease').filter(({ park }) => park)).toEqual([])
  })

  it('are written as soon as the disk has shown to be quick enough, though most of them is shared and stays', () => {
    const { world } = setting({ mode: 'worth' }, { bytesPerToken: 24_000 })
    const usage = { promptTokens: 500, cachedTokens: 0, completionTokens: 251, prefill: 100 }
    const parked = (chain: Fingerprint): number => visit(world, { chain, usage }).granted?.park?.length ?? 0
    const agent = (name: string): number => parked(requestChain('agents', name, 0))
    expect([parked(turn('x')), agent('first'), agent('second')]).toEqual([0, 1, 0])
    const reading = { instance: 'm#1', slot: 0, lease: 'none', isRestored: true }
    world.send({ type: 'park-finished', context: 'context-1', bytes: 18_000_000, took: 33 })
    expect(agent('third')).toBe(0)
    world.send({ type: 'restore-finished', context: 'context-1', ...reading, took: 33 })
    expect(agent('fourth')).toBe(1)
  })

  it('are written when their ends behind a long beginning took longer than the file would, though whole prompts take less', () => {
    const { world } = setting({ mode: 'worth' }, { bytesPerToken: 24_000 })
    const beginning = requestChain('agents', 'all', 3)
    const parked = (chain: Fingerprint, cachedTokens: number, prefill: number): number => {
      const usage = { promptTokens: 2000, cachedTokens, completionTokens: 51, prefill }
      return visit(world, { chain, usage }).granted?.park?.length ?? 0
    }
    const agent = (name: string): Fingerprint => [...beginning, { hash: name, end: 9000 }]
    expect([parked(agent('first'), 0, 200), parked(agent('second'), 1800, 400)]).toEqual([0, 0])
    expect(parked(agent('third'), 1800, 400)).toBe(1)
    expect(world.state.models.get('m')?.contexts).toMatchObject({ prefillPerToken: 0.1, tailPerToken: 2 })
    // Computed from nothing, all of it takes less than the file.
    expect(parked(turn('y'), 0, 200)).toBe(0)
  })

  it('are written once: what is parked and was not gone on with is not written again', () => {
    const { world, commands } = setting({ mode: 'worth' })
    for (const name of ['a', 'b', 'a', 'c']) visit(world, { chain: turn(name) })
    const written = ofType(commands, 'grant-lease').map(({ park }) => park?.map(({ context }) => context))
    expect(written).toEqual([undefined, ['context-1'], ['context-2'], undefined])
  })

  it('take the place of their own earlier turns on disk', () => {
    const { world } = setting({ mode: 'worth' })
    for (const number of [0, 1, 2]) {
      visit(world, { chain: turn('a', number) })
      visit(world, { chain: turn('b', number) })
    }
    expect(world.state.contexts.parked.map(({ chain }) => chain.length)).toEqual([5, 7])
  })

  it('stay beside a later turn until that one would survive a kill of the server', () => {
    const { world } = setting({ mode: 'worth' })
    for (const [name, number] of [
      ['a', 0],
      ['b', 0],
      ['a', 1],
    ] as const)
      visit(world, { chain: turn(name, number) })
    world.request({ model: 'm', chain: turn('b', 1), hold: 100 })
    const ofFirst = (): number[] =>
      world.state.contexts.parked
        .filter(({ chain, writer }) => chain[0]?.hash === 'a' && writer === undefined)
        .map(({ chain }) => chain.length)
    world.run(world.now + 25)
    expect(ofFirst()).toEqual([3, 5])
    world.run(world.now + 25)
    expect(ofFirst()).toEqual([5])
  })

  it('go when they have been read, if a later turn became safe meanwhile', () => {
    const { world } = setting({ mode: 'worth' }, { slots: 2 })
    for (const name of ['a', 'b', 'c']) visit(world, { chain: turn(name) })
    visit(world, { chain: turn('a', 1) })
    visit(world, { chain: turn('d') })
    world.machine.shelf.isSlow = true
    const lengthsOf = (name: string): number[] =>
      world.state.contexts.parked
        .filter(({ chain }) => chain[0]?.hash === name)
        .map(({ chain }) => chain.length)
    world.request({ model: 'm', chain: turn('e'), hold: 500 })
    world.run(world.now + 1)
    const other = world.request({ model: 'm', chain: requestChain('a', 'another', 1), hold: 500 })
    world.run(world.now + 100)
    expect(other.granted).toMatchObject({ restore: 'context-1' })
    expect(lengthsOf('a')).toEqual([3, 5])
    const { instance, slot, lease } = other.granted ?? { instance: '', slot: 0, lease: '' }
    const reading = { type: 'restore-finished', context: 'context-1', instance, slot, lease } as const
    world.send({ ...reading, isRestored: true, took: 33 })
    expect(lengthsOf('a')).toEqual([5])
  })

  it('of which an earlier turn was left by a kill are found without it', () => {
    const { world, commands } = setting({ mode: 'worth' })
    const found = (id: string, chain: Fingerprint, more = {}): ParkedContext => ({
      id,
      chain,
      model: 'm',
      identity: 'm@0',
      tokens: 500,
      bytes: 1000,
      worth: 100,
      usedAt: 0,
      orderedAt: 0,
      isKept: false,
      writer: undefined,
      isSettled: true,
      ...more,
    })
    const contexts = [
      found('context-1', turn('a')),
      found('context-2', turn('a', 1)),
      found('context-3', turn('a', 1)),
      found('context-4', turn('a').slice(0, 1), { isKept: true }),
    ]
    for (const { id, chain, bytes } of contexts)
      world.machine.shelf.files.set(id, { content: chain, identity: 'm@0', bytes })
    world.send({ type: 'contexts-found', contexts, room: 1e9 })
    expect(ofType(commands, 'remove-context').map(({ context }) => context)).toEqual([
      'context-1',
      'context-2',
    ])
    expect(world.state.contexts.parked.map(({ id }) => id)).toEqual(['context-3', 'context-4'])
  })

  it('BR-51, BR-61: of other weights or another kind of cache are dropped when the model is loaded anew', () => {
    const { world } = setting({ mode: 'worth' })
    visit(world, { chain: turn('a') })
    visit(world, { chain: turn('b') })
    world.declare(sized('m', 10, { parks: true, keepAlive: -1, revision: 1 }))
    const other = visit(world, { chain: turn('a', 1) })
    expect(other.granted).toMatchObject({ instance: 'm#2', keptPrefix: 0 })
    expect(other.granted?.restore).toBeUndefined()
    expect(world.state.contexts.parked.filter(({ identity }) => identity !== 'm@1')).toEqual([])
  })
})

describe('two conversations that share a beginning (R16)', () => {
  const long = requestChain('s', 'first', 3)
  const other = requestChain('s', 'second', 0)

  it('start from one computed beginning: it is written from its slot and read into the other', () => {
    const { world } = setting({ mode: 'worth' }, { slots: 2 })
    visit(world, { chain: long })
    const branch = visit(world, { chain: other })
    expect(branch.granted).toMatchObject({
      slot: 1,
      park: [{ context: 'context-1', slot: 0 }],
      restore: 'context-1',
      keptPrefix: 1,
    })
    // The first one goes on in its own slot, with all that is in it.
    expect(visit(world, { chain: requestChain('s', 'first', 4) }).granted).toMatchObject({
      slot: 0,
      keptPrefix: 9,
    })
  })

  it('and a third one reads what was written for the second', () => {
    const { world } = setting({ mode: 'worth' }, { slots: 3 })
    visit(world, { chain: long })
    visit(world, { chain: other })
    const third = visit(world, { chain: requestChain('s', 'third', 0) }).granted
    expect(third).toMatchObject({ slot: 2, restore: 'context-1', keptPrefix: 1 })
    expect(third?.park).toBeUndefined()
  })

  it('compute it again where that is quicker than to copy it', () => {
    const { world, commands } = setting({ mode: 'worth' }, { slots: 2 })
    const quick = { promptTokens: 2000, cachedTokens: 0, completionTokens: 1, prefill: 100 }
    visit(world, { chain: long, usage: quick })
    visit(world, { chain: other, usage: quick })
    expect(ofType(commands, 'grant-lease').filter(({ park, restore }) => park ?? restore)).toEqual([])
  })
})

describe('a context that somebody was promised', () => {
  it('stays until it is read, though a longer one begins with it', () => {
    const { world, commands } = setting({ mode: 'always' }, { slots: 2 })
    visit(world, { chain: requestChain('s', 'a', 0) })
    // Granted, and not at its reading yet, for its disk is slow.
    world.machine.shelf.isSlow = true
    const slow = world.request({ model: 'm', chain: requestChain('s', 'b', 0), hold: 20_000 })
    expect(slow.granted).toMatchObject({ park: [{ context: 'context-1' }], restore: 'context-1' })
    visit(world, { chain: requestChain('s', 'a', 1) })
    visit(world, { chain: turn('c') })
    expect(world.state.contexts.parked.map(({ id }) => id)).toEqual(['context-1', 'context-2'])
    expect(ofType(commands, 'remove-context')).toEqual([])
    world.run(world.now + 60_000)
    expect(ofType(commands, 'remove-context')).toMatchObject([{ context: 'context-1' }])
  })
})

describe('the disk budget of contexts (R16)', () => {
  const parked = (world: World): string[] =>
    world.state.contexts.parked.map(({ chain }) => chain[0]?.hash ?? '')

  it('BR-50: a short one-off never displaces a long conversation', () => {
    const { world } = setting({ mode: 'always', budget: 150_000 })
    visit(world, { chain: turn('long', 5) })
    for (const name of ['x', 'y', 'z']) visit(world, { chain: turn(name) })
    expect(parked(world)).toContain('long')
    expect(visit(world, { chain: turn('long', 6) }).granted?.keptPrefix).toBe(13)
  })

  it('lets what nobody asked for in hours make way for what is used', () => {
    const { world } = setting({ mode: 'worth', budget: 150_000 })
    visit(world, { chain: turn('old', 2) })
    visit(world, { chain: turn('b', 1) })
    expect(parked(world)).toEqual(['old'])
    world.run(world.now + 6 * 3_600_000)
    visit(world, { chain: turn('c', 1) })
    visit(world, { chain: turn('d', 1) })
    expect(parked(world)).not.toContain('old')
  })

  it('BR-53: is kept across models, by what is really there, at every moment', () => {
    const budget = 200_000
    const seen: number[] = []
    const world = newWorld({
      limits: { parking: { mode: 'always', budget } },
      observe: (look) => seen.push(look.world.machine.shelf.bytes),
    })
    for (const id of ['m', 'n', 'o']) world.declare(sized(id, 60, { parks: true, keepAlive: -1 }))
    for (let round = 0; round < 30; round++) {
      visit(world, { model: ['m', 'n', 'o'][round % 3] ?? 'm', chain: turn(`c${round}`, round % 4) })
    }
    expect(Math.max(...seen)).toBeLessThanOrEqual(budget)
    expect(Math.max(...seen)).toBeGreaterThan(budget / 2)
  })

  it('BR-56: follows the room of the disk', () => {
    const { world } = setting({ mode: 'worth' })
    for (const name of ['a', 'b', 'c', 'd']) visit(world, { chain: turn(name) })
    expect(parked(world)).toHaveLength(3)
    world.send({ type: 'context-room-measured', room: 50_000 })
    expect(bytesParked(world.state.contexts.parked)).toBeLessThanOrEqual(50_000)
    expect(parked(world)).not.toHaveLength(0)
    world.send({ type: 'context-room-measured', room: 0 })
    expect(parked(world)).toEqual([])
  })
})

describe('restores that do not hold (R19)', () => {
  const nothing = { promptTokens: 1000, cachedTokens: 0, completionTokens: 1, prefill: 4000 }

  it('BR-49: after two in a row the model is marked with the reason, its files go and nothing more is written', () => {
    const { world, commands } = setting({ mode: 'worth' })
    visit(world, { chain: turn('a') })
    visit(world, { chain: turn('b') })
    visit(world, { chain: turn('a', 1), usage: nothing })
    expect(world.state.models.get('m')?.contexts).toMatchObject({ strikes: 1, unfit: undefined })
    visit(world, { chain: turn('b', 1), usage: nothing })
    expect(world.state.models.get('m')?.contexts.unfit).toBe(
      '2 restores in a row were reported done, and of 750 tokens 0 were used again',
    )
    expect(world.state.contexts.parked).toEqual([])
    commands.length = 0
    for (const name of ['a', 'b', 'a']) visit(world, { chain: turn(name) })
    expect(ofType(commands, 'grant-lease').filter(({ park, restore }) => park ?? restore)).toEqual([])
  })

  it('one that holds clears the suspicion', () => {
    const { world } = setting({ mode: 'worth' })
    visit(world, { chain: turn('a') })
    visit(world, { chain: turn('b') })
    visit(world, { chain: turn('a', 1), usage: nothing })
    visit(world, { chain: turn('b', 1) })
    expect(world.state.models.get('m')?.contexts).toMatchObject({ strikes: 0, restored: 1 })
  })
})
