import { describe, expect, it } from 'vitest'
import type { Part } from '../tasks/part.ts'
import { PartQueue } from './part-queue.ts'

const text = (number: number): Part => ({ type: 'text', text: String(number) })

describe('a queue of parts', () => {
  it('gives them in order, however pushing and taking alternate', () => {
    const queue = new PartQueue()
    let [pushed, taken] = [0, 0]
    for (let round = 0; round < 400; round++) {
      for (let count = 0; count < (round * 37) % 50; count++) queue.push(text(pushed++))
      for (let count = 0; count < (round * 29) % 50; count++) {
        const part = queue.take()
        expect(part).toEqual(taken < pushed ? text(taken) : undefined)
        if (part !== undefined) taken++
        expect(queue.length).toBe(Math.max(0, pushed - taken))
      }
    }
    for (; taken < pushed; taken++) expect(queue.take()).toEqual(text(taken))
    expect([queue.take(), pushed > 5000]).toEqual([undefined, true])
  })

  it('is empty when it was cleared, and can be used again', () => {
    const queue = new PartQueue()
    queue.push(text(1))
    queue.push(text(2))
    queue.take()
    queue.clear()
    expect(queue.take()).toBeUndefined()
    queue.push(text(3))
    expect(queue.take()).toEqual(text(3))
  })
})
