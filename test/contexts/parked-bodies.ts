import type { ParkOrder } from '../../src/pool/policy/messages.ts'

/** What a made-up engine writes for a context: large enough to be written in several pieces, and another one for each number. */
export function bodyOf(number: number): Buffer {
  return Buffer.alloc(20_000 + (number % 50) * 1000, `context ${number}.`)
}

export function orderOf(number: number): ParkOrder {
  return {
    context: `context-${number}`,
    model: 'm',
    slot: 0,
    identity: 'me',
    chain: Array.from({ length: 12 }, (_, index) => ({
      hash: `hash-${number}-${index}`,
      end: (index + 1) * 1024,
    })),
    tokens: 3000,
    worth: 9000,
  }
}
