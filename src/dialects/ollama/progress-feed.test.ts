import { describe, expect, it } from 'vitest'
import { ProgressFeed } from './progress-feed.ts'

describe('ProgressFeed', () => {
  it('gives a slow reader the latest of each subject, and ends', async () => {
    const feed = new ProgressFeed<string>()
    feed.put('a', 'a1')
    feed.put('b', 'b1')
    feed.put('a', 'a2')
    feed.end()
    const seen: string[] = []
    for await (const news of feed) seen.push(news)
    expect(seen).toEqual(['a2', 'b1'])
  })

  it('wakes a reader that waits, and loses nothing that comes while it is read', async () => {
    const feed = new ProgressFeed<number>()
    const reader = feed[Symbol.asyncIterator]()
    const first = reader.next()
    feed.put('a', 1)
    expect(await first).toEqual({ done: false, value: 1 })
    feed.put('a', 2)
    feed.end()
    expect(await reader.next()).toEqual({ done: false, value: 2 })
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })
})
