import { describe, expect, it } from 'vitest'
import type { ChatTask } from './chat-task.ts'
import { fingerprintOf, fingerprintWithAnswer, sharedBlocks } from './fingerprint.ts'
import type { Message } from './message.ts'

function chat(...messages: Message[]): ChatTask {
  return { kind: 'chat', messages, sampling: {}, stop: [] }
}

function image(byte: number): ChatTask {
  return chat({
    role: 'user',
    content: [{ type: 'image', mediaType: 'image/png', data: new Uint8Array([byte]) }],
  })
}

const SYSTEM: Message = { role: 'system', content: 'Be brief.' }
const HI: Message = { role: 'user', content: 'hi' }

describe('fingerprint', () => {
  it('the next turn of a conversation shares everything that was there before', () => {
    const first = fingerprintOf(chat(SYSTEM, HI))
    const held = fingerprintWithAnswer(first, { role: 'assistant', content: 'Hello.' })
    const next = fingerprintOf(
      chat(SYSTEM, HI, { role: 'assistant', content: 'Hello.' }, { role: 'user', content: 'more' }),
    )
    expect(sharedBlocks(held, next)).toBe(held.length)
  })

  it('`a` followed by an assistant `b` is not the one message `a assistant: b` (F11)', () => {
    const two = fingerprintOf(chat({ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }))
    const one = fingerprintOf(chat({ role: 'user', content: 'a\nassistant: b' }))
    expect(sharedBlocks(two, one)).toBe(0)
  })

  it('images count by their content (F11)', () => {
    expect(sharedBlocks(fingerprintOf(image(1)), fingerprintOf(image(2)))).toBe(0)
    expect(sharedBlocks(fingerprintOf(image(1)), fingerprintOf(image(1)))).toBe(1)
  })

  it('other tools make another beginning', () => {
    const tools = [{ name: 'f', parameters: {} }]
    expect(sharedBlocks(fingerprintOf(chat(HI)), fingerprintOf({ ...chat(HI), tools }))).toBe(0)
  })

  it('a long text is several blocks, so that two that differ late still share their beginning', () => {
    const long = 'x'.repeat(5000)
    const a = fingerprintOf(chat({ role: 'user', content: `${long}a` }))
    const b = fingerprintOf(chat({ role: 'user', content: `${long}b` }))
    expect(sharedBlocks(a, b)).toBe(4)
    expect(a[3]?.end).toBe(4096)
  })

  it('an empty message is a message', () => {
    expect(fingerprintOf(chat({ role: 'user', content: '' }))).toHaveLength(1)
  })
})
