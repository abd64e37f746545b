import type { Fingerprint, FingerprintBlock } from '../../tasks/fingerprint.ts'
import type { ConfirmedUsage } from '../policy/messages.ts'

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

/** The same for many requests: blocks are made once. */
export class ConversationChains {
  readonly #longest = new Map<string, Fingerprint>()

  request(family: string, conversation: string, turn: number): Fingerprint {
    const name = `${family}/${conversation}`
    const length = 2 * turn + 2
    let chain = this.#longest.get(name)
    if (chain === undefined || chain.length < length) {
      chain = requestChain(family, conversation, 2 * turn + 1)
      this.#longest.set(name, chain)
    }
    return chain.length === length ? chain : chain.slice(0, length)
  }
}

/** What the slot holds when that request was answered: one block more. */
export function answeredChain(chain: Fingerprint): Fingerprint {
  const last = chain.at(-1)
  if (last === undefined) return []
  const [family, conversation, index] = last.hash.split('/')
  if (index === undefined) return chain
  return [...chain, { hash: `${family}/${conversation}/${Number(index) + 1}`, end: last.end + BLOCK }]
}

/** Tokens of one block, and milliseconds each takes. */
const BLOCK_TOKENS = 250
const PREFILL = 4

/** What the engine would confirm of a run that kept so many blocks; `tokens` of the prompt, if they are known, are spread evenly over its blocks. */
export function usageOf(
  { keptPrefix }: { keptPrefix: number },
  chain: Fingerprint,
  tokens?: number,
  perToken: number = PREFILL,
): ConfirmedUsage {
  const promptTokens = tokens ?? chain.length * BLOCK_TOKENS
  const kept = Math.floor((promptTokens * keptPrefix) / Math.max(1, chain.length))
  const cachedTokens = Math.min(kept, Math.max(0, promptTokens - 1))
  const prefill = (promptTokens - cachedTokens) * perToken
  return { promptTokens, cachedTokens, completionTokens: BLOCK_TOKENS + 1, prefill }
}
