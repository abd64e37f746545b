import type { Fingerprint, FingerprintBlock } from '../../tasks/fingerprint.ts'
import { sizeOf, tokensIn } from '../policy/context-worth.ts'
import type { ConfirmedUsage } from '../policy/messages.ts'

/** Tokens of a message or an answer of which nothing is said, characters of each, and milliseconds it takes. */
export const ANSWER_TOKENS = 250
export const TOKEN_SIZE = 4
const PREFILL = 4
const BLOCK = ANSWER_TOKENS * TOKEN_SIZE

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

/** What the engine would confirm of a run that kept so many blocks; `tokens` of the prompt, if they are known, are spread evenly over its characters. */
export function usageOf(
  { keptPrefix }: { keptPrefix: number },
  chain: Fingerprint,
  tokens?: number,
  perToken: number = PREFILL,
): ConfirmedUsage {
  const promptTokens = tokens ?? Math.floor(sizeOf(chain, chain.length) / TOKEN_SIZE)
  const kept = tokensIn(chain, promptTokens, keptPrefix)
  const cachedTokens = Math.min(kept, Math.max(0, promptTokens - 1))
  const prefill = (promptTokens - cachedTokens) * perToken
  return { promptTokens, cachedTokens, completionTokens: ANSWER_TOKENS + 1, prefill }
}
