import type { LlamaContext } from './llama-module.ts'

/** The engine's own field; it is pinned to one version, and there is no public way. */
interface Inside {
  _ctx?: { sampleToken?: (...parameters: unknown[]) => Promise<unknown> }
}

/**
 * Has the tokens of one batch chosen one after the other. The engine chooses them on several threads at once, and llama.cpp puts the
 * logits of a batch in order when the first of them is asked for: the others read while they are moved, and a slot goes on with a token
 * of another conversation (P6; of answers in parallel, one in six with 100,000 tokens in the vocabulary). It costs nothing measurable.
 */
export function sampleOneByOne(context: LlamaContext): void {
  const native = (context as unknown as Inside)._ctx
  const sample = native?.sampleToken?.bind(native)
  if (native === undefined || sample === undefined) {
    throw new Error('This version of node-llama-cpp is not known: its parallel slots could mix up answers.')
  }
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = async (...parameters: unknown[]): Promise<unknown> => {
    const turn = last.then(async () => sample(...parameters))
    last = turn.catch(() => undefined)
    return turn
  }
  Object.defineProperty(native, 'sampleToken', { value: inTurn })
}
