import { describe, expect, it } from 'vitest'
import { EventBus } from '../events/event-bus.ts'
import { EventHistory } from './event-history.ts'

function filled(count: number, size = 4): EventHistory {
  const bus = new EventBus(() => 0)
  const history = new EventHistory(bus, size)
  for (let index = 0; index < count; index++) bus.emit('warning-raised', { code: String(index), message: '' })
  return history
}

function seen({ events, lost }: ReturnType<EventHistory['since']>): string {
  return `${events.map(({ id }) => id).join()} lost ${lost}`
}

describe('the history of events', () => {
  it.each([
    [0, 0, ' lost 0'],
    [3, 0, '1,2,3 lost 0'],
    [3, 2, '3 lost 0'],
    [3, 3, ' lost 0'],
    [10, 6, '7,8,9,10 lost 0'],
    [10, 5, '7,8,9,10 lost 1'],
    [10, 1, '7,8,9,10 lost 5'],
    [10, 0, '7,8,9,10 lost 0'],
    [3, 99, '1,2,3 lost 0'],
  ])('of %d events after id %d: %s', (count, id, expected) => {
    expect(seen(filled(count).since(id))).toBe(expected)
  })

  it('calls its watchers until they go or are let go', () => {
    const bus = new EventBus(() => 0)
    const history = new EventHistory(bus)
    const calls: string[] = []
    const leave = history.watch(
      () => calls.push('a'),
      () => calls.push('a ended'),
    )
    history.watch(
      () => calls.push('b'),
      () => calls.push('b ended'),
    )
    bus.emit('yard-stopped', {})
    leave()
    bus.emit('yard-stopped', {})
    history.endWatching()
    bus.emit('yard-stopped', {})
    expect(calls).toEqual(['a', 'b', 'b', 'b ended'])
  })
})
