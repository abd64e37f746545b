import type { LlamaContext } from './llama-module.ts'

/** The engine's own field; it is pinned to one version, and there is no public way. */
interface Inside {
  _ctx?: { sampleToken?: Native; decodeBatch?: Native }
}

type Native = (...parameters: unknown[]) => Promise<unknown>

/**
 * Has the first token of each batch chosen before the others. The engine chooses them on several threads at once, and llama.cpp puts the
 * logits of a batch in order when the first of them is asked for: the others read while they are moved, and a slot goes on with a token
 * of another conversation (P6; of answers in parallel, one in six with 100,000 tokens in the vocabulary). Once they are in order, they
 * are only read.
 */
export function sampleAfterFirst(context: LlamaContext): void {
  const native = (context as unknown as Inside)._ctx
  const sample = native?.sampleToken?.bind(native)
  const decode = native?.decodeBatch?.bind(native)
  if (native === undefined || sample === undefined || decode === undefined) {
    throw new Error('This version of node-llama-cpp is not known: its parallel slots could mix up answers.')
  }
  let first: Promise<unknown> | undefined
  const inTurn: Native = async (...parameters) => {
    if (first !== undefined) return first.then(async () => sample(...parameters))
    const chosen = sample(...parameters)
    first = chosen.catch(() => undefined)
    return chosen
  }
  const decodeAnew: Native = async (...parameters) => {
    first = undefined
    return decode(...parameters)
  }
  Object.defineProperty(native, 'sampleToken', { value: inTurn })
  Object.defineProperty(native, 'decodeBatch', { value: decodeAnew })
}
