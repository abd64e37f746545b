import { describe, expect, it } from 'vitest'
import { EventBus } from './event-bus.ts'

function refuse(): void {
  throw new Error('a broken listener')
}

async function refuseLater(): Promise<void> {
  await Promise.resolve()
  throw new Error('a broken listener')
}

describe('EventBus', () => {
  it.each([
    ['throws', refuse],
    ['is an async function and rejects, which ended the whole process (F7)', refuseLater],
  ])('hands events on although a subscriber %s', async (_, broken) => {
    const bus = new EventBus(() => 5)
    const seen: number[] = []
    const rejections: unknown[] = []
    const note = (reason: unknown): void => void rejections.push(reason)
    process.on('unhandledRejection', note)
    bus.subscribe(broken)
    bus.subscribe(({ id }) => seen.push(id))
    bus.emit('yard-started', { home: null })
    bus.emit('yard-started', { home: null })
    await new Promise((resolve) => process.nextTick(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', note)
    expect(seen).toEqual([1, 2])
    expect(rejections).toEqual([])
  })

  it('forgets a subscriber that was taken off', () => {
    const bus = new EventBus(() => 5)
    const seen: number[] = []
    bus.subscribe(({ id }) => seen.push(id))()
    bus.emit('yard-started', { home: null })
    expect(seen).toEqual([])
  })
})
