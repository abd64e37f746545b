import type { Fingerprint, FingerprintBlock } from '../../tasks/fingerprint.ts'

const BLOCK = 1000

/**
 * The chain of a made-up conversation's request: a beginning that all of one family share, then one block per turn and answer. The
 * request of turn 3 begins with all that turn 2 sent and was answered.
 */
export function requestChain(family: string, conversation: string, turn: number): Fingerprint {
  const blocks: FingerprintBlock[] = [{ hash: family, end: BLOCK }]
  for (let index = 0; index < 2 * turn + 1; index++) {
    blocks.push({ hash: `${family}/${conversation}/${index}`, end: (index + 2) * BLOCK })
  }
  return blocks
}

/** What the slot holds when that request was answered: one block more. */
export function answeredChain(chain: Fingerprint): Fingerprint {
  const last = chain.at(-1)
  if (last === undefined) return []
  const [family, conversation, index] = last.hash.split('/')
  if (index === undefined) return chain
  return [...chain, { hash: `${family}/${conversation}/${Number(index) + 1}`, end: last.end + BLOCK }]
}
