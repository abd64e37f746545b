import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import type { LlamaContext, LlamaSequence, LlamaSteps } from './llama-module.ts'
import { PrefillPace } from './prefill-pace.ts'
import { PromptThreads } from './prompt-threads.ts'
import { Slot } from './slot.ts'

/** A sequence that only remembers its tokens. */
class FakeSequence {
  readonly #onEvaluate: (() => void) | undefined
  tokens: number[] = []
  readonly evaluated: number[] = []
  needsCheckpoints = false
  disposed = false
  generators = 0

  constructor(onEvaluate?: () => void) {
    this.#onEvaluate = onEvaluate
  }

  get nextTokenIndex(): number {
    return this.tokens.length
  }

  compareContextTokens(tokens: readonly number[]): { firstDifferentIndex: number } {
    const index = this.tokens.findIndex((token, place) => token !== tokens[place])
    return { firstDifferentIndex: index < 0 ? this.tokens.length : index }
  }

  getRestoreToPrefixIndexEvaluationSize(): number {
    return 5
  }

  async eraseContextTokenRanges([range]: { start: number; end: number }[]): Promise<void> {
    this.tokens.splice(range?.start ?? 0)
  }

  async clearHistory(): Promise<void> {
    this.tokens = []
  }

  async *evaluateWithMetadata(first: readonly number[]): LlamaSteps {
    this.generators++
    let tokens = first
    try {
      for (;;) {
        this.#onEvaluate?.()
        this.evaluated.push(tokens.length)
        this.tokens.push(...tokens)
        const given: number | readonly number[] | undefined = yield { token: 99 }
        tokens = typeof given === 'object' ? given : [given ?? 99]
      }
    } finally {
      this.generators--
    }
  }

  async dispose(): Promise<void> {
    this.disposed = true
  }
}

function bench(
  threads?: PromptThreads,
  onEvaluate?: () => void,
): { slot: Slot; made: FakeSequence[]; sequence: FakeSequence } {
  const made: FakeSequence[] = []
  const context = {
    getSequence: () => {
      const sequence = new FakeSequence(onEvaluate)
      made.push(sequence)
      return sequence as unknown as LlamaSequence
    },
  } as LlamaContext
  const pace = new PrefillPace({ batchSize: 64, flashAttention: 'auto' })
  const slot = new Slot({
    context,
    pace,
    clock: new ManualClock(),
    ...(threads !== undefined && { threads }),
  })
  return { slot, made, sequence: made[0] as FakeSequence }
}

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)

describe('keeping a prefix', () => {
  it('F1: with 0 everything goes, however much would agree', async () => {
    const { slot, sequence } = bench()
    sequence.tokens = numbers(0, 10)
    expect(await slot.keep(numbers(0, 20), 0)).toBe(0)
    expect(sequence.tokens).toEqual([])
  })

  it('F11: keeps exactly the tokens that agree, whatever was believed', async () => {
    const { slot, sequence } = bench()
    sequence.tokens = [1, 2, 3, 9, 9]
    expect(await slot.keep([1, 2, 3, 4, 5], 50)).toBe(3)
    expect(sequence.tokens).toEqual([1, 2, 3])
  })

  it('leaves the last token of the prompt to be evaluated', async () => {
    const { slot, sequence } = bench()
    sequence.tokens = [1, 2, 3]
    expect(await slot.keep([1, 2, 3], 1)).toBe(2)
    sequence.tokens = [1, 2, 3, 4, 5]
    expect(await slot.keep([1, 2, 3], 1)).toBe(2)
    expect(sequence.tokens).toEqual([1, 2])
  })

  it('clears a cache that could not forget its end without evaluating all again', async () => {
    const { slot, sequence } = bench()
    sequence.needsCheckpoints = true
    sequence.tokens = [1, 2, 3, 9]
    expect(await slot.keep([1, 2, 3, 4], 1)).toBe(0)
    sequence.tokens = [1, 2, 3]
    expect(await slot.keep([1, 2, 3, 4], 1)).toBe(3)
  })

  it('after a failure nothing is kept: the sequence is a new one', async () => {
    const { slot, made, sequence } = bench()
    sequence.tokens = [1, 2, 3]
    slot.markBroken()
    expect(slot.tokens).toBe(0)
    expect(await slot.keep([1, 2, 3, 4], 1)).toBe(0)
    expect(made).toHaveLength(2)
    expect(sequence.disposed).toBe(true)
    expect(slot.sequence.nextTokenIndex).toBe(0)
  })
})

describe('evaluating a prompt', () => {
  it('goes in pieces, and leaves the last one for generation', async () => {
    const { slot, sequence } = bench()
    let moves = 0
    const rest = await slot.prefill(
      numbers(0, 40),
      () => false,
      () => moves++,
    )
    expect(sequence.evaluated[0]).toBe(16)
    expect(rest.length).toBeGreaterThan(0)
    expect([...sequence.tokens, ...rest]).toEqual(numbers(0, 40))
    expect(moves).toBe(sequence.evaluated.length)
  })

  it('uses one generator for all prompts, and closes it at the end', async () => {
    const { slot, sequence } = bench()
    for (const length of [100, 300, 200]) {
      await slot.clear()
      const rest = await slot.prefill(
        numbers(0, length),
        () => false,
        () => undefined,
      )
      expect([...sequence.tokens, ...rest]).toEqual(numbers(0, length))
    }
    expect(sequence.generators).toBe(1)
    await slot.close()
    expect(sequence.generators).toBe(0)
  })

  it('of a few tokens is left to generation whole', async () => {
    const { slot, sequence } = bench()
    expect(
      await slot.prefill(
        [1, 2, 3],
        () => false,
        () => undefined,
      ),
    ).toEqual([1, 2, 3])
    expect(sequence.evaluated).toEqual([])
  })

  it('BR-13: stops after the piece in which it was given up', async () => {
    const { slot, sequence } = bench()
    await slot.prefill(
      numbers(0, 1000),
      () => sequence.evaluated.length === 2,
      () => undefined,
    )
    expect(sequence.evaluated).toHaveLength(2)
  })
})

describe('all cores for prompts (R17)', () => {
  /** Threads that are claimed beside the model's own, at each piece of a prompt that is evaluated. */
  async function claimedWhile(isAlone: boolean, slotsAtOnce = 1): Promise<{ each: number[]; after: number }> {
    let claimed = 0
    const threads = new PromptThreads((more) => {
      claimed += more
      return () => {
        claimed -= more
      }
    }, 3)
    threads.isAlone = isAlone
    const each: number[] = []
    const slots = Array.from({ length: slotsAtOnce }, () => bench(threads, () => each.push(claimed)))
    const rests = await Promise.all(
      slots.map(async ({ slot }) =>
        slot.prefill(
          numbers(0, 60),
          () => false,
          () => undefined,
        ),
      ),
    )
    expect(rests.every(({ length }) => length === 1)).toBe(isAlone)
    return { each, after: claimed }
  }

  it('are taken for pieces while no other model computes, and given back', async () => {
    const { each, after } = await claimedWhile(true)
    expect(each[0]).toBe(0)
    expect(new Set(each.slice(1))).toEqual(new Set([3]))
    expect(after).toBe(0)
  })

  it('are left to another model that computes', async () => {
    const { each, after } = await claimedWhile(false)
    expect(new Set(each)).toEqual(new Set([0]))
    expect(after).toBe(0)
  })

  it('are claimed once for slots that evaluate at the same time', async () => {
    const { each, after } = await claimedWhile(true, 3)
    expect(new Set(each)).toEqual(new Set([0, 3]))
    expect(after).toBe(0)
  })
})
