import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from './base/clock.ts'
import { NO_CAPABILITIES, type Engine, type ModelList } from './engines/engine.ts'
import { EventBus } from './events/event-bus.ts'
import type { YardEvent } from './events/event-map.ts'
import { specOf } from './models/__fixtures__/model-spec.ts'
import type { ModelSpec } from './models/model-spec.ts'
import { ServedModels } from './models/served-models.ts'
import { ModelLists } from './yard-model-lists.ts'

const MINUTE = 60_000

function template(slots = 4): ModelSpec {
  return specOf('lab/*', { engine: 'listing', slots })
}

function setUp(listModels: (spec: ModelSpec) => Promise<ModelList>): {
  clock: ManualClock
  lists: ModelLists
  ids: () => string[]
  events: YardEvent[]
} {
  const clock = new ManualClock()
  const bus = new EventBus(() => clock.wallTime())
  const events: YardEvent[] = []
  bus.subscribe((event) => events.push(event))
  const served = new ServedModels({ read: () => undefined, write: () => undefined }, () => true)
  const engine: Engine = {
    name: 'listing',
    capabilities: NO_CAPABILITIES,
    detect: async () => ({ available: true, version: '1' }),
    plan: () => {
      throw new Error('not planned here')
    },
    load: () => Promise.reject(new Error('not loaded here')),
    listModels,
  }
  const lists = new ModelLists({ clock, bus, served, engines: new Map([['listing', engine]]) })
  return { clock, lists, events, ids: () => served.specs().map(({ id }) => id) }
}

function list(name: string, refreshAfter = MINUTE): ModelList {
  return { models: [{ name, options: {} }], refreshAfter }
}

describe('lists of models that endpoints have', () => {
  it('are asked for at the start, then after each period, until they are closed', async () => {
    let asked = 0
    const { clock, lists, ids } = setUp(async () => list(`model${++asked}`))
    await lists.replace([template()])
    expect(ids()).toEqual(['lab/model1'])
    clock.advance(MINUTE)
    await vi.waitFor(() => expect(ids()).toContain('lab/model2'), 20_000)
    lists.close()
    clock.advance(10 * MINUTE)
    expect(asked).toBe(2)
  })

  it('are not asked for by themselves where the period is 0', async () => {
    let asked = 0
    const { clock, lists } = setUp(async () => list(`model${++asked}`, 0))
    await lists.replace([template()])
    clock.advance(100 * MINUTE)
    expect(asked).toBe(1)
    await lists.refresh()
    expect(asked).toBe(2)
  })

  it('that cannot be had are tried again, and the warning is told once', async () => {
    let asked = 0
    const { clock, lists, events } = setUp(async () => {
      asked++
      throw new Error('Nobody answers.')
    })
    await lists.replace([template()])
    clock.advance(MINUTE)
    await vi.waitFor(() => expect(asked).toBe(2), 20_000)
    const [told] = await lists.refresh()
    expect(told?.problem).toContain('Nobody answers.')
    expect(events.filter(({ name }) => name === 'warning-raised')).toHaveLength(1)
  })

  it('hold a start up for 5 s at most, and come later', async () => {
    let answer: (list: ModelList) => void = () => undefined
    const { clock, lists, ids } = setUp(() => new Promise((resolve) => (answer = resolve)))
    const begun = lists.replace([template()])
    await Promise.resolve()
    clock.advance(5000)
    await begun
    expect(ids()).toEqual([])
    answer(list('late'))
    await vi.waitFor(() => expect(ids()).toEqual(['lab/late']), 20_000)
  })

  it('of an entry that was changed meanwhile are not taken for the new one', async () => {
    const answers: ((list: ModelList) => void)[] = []
    const { clock, lists, ids } = setUp(() => new Promise((resolve) => answers.push(resolve)))
    const first = lists.replace([template(1)])
    const second = lists.replace([template(2)])
    clock.advance(5000)
    await Promise.all([first, second])
    answers[0]?.(list('old'))
    answers[1]?.(list('new'))
    await vi.waitFor(() => expect(ids()).toEqual(['lab/new']), 20_000)
  })
})
