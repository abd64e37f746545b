import type { Clock } from '../../base/clock.ts'
import { ContextGate } from './context-gate.ts'
import type { LlamaContext, LlamaEvaluateOptions, LlamaSequence, LlamaSteps } from './llama-module.ts'
import type { Piece, PrefillPace } from './prefill-pace.ts'
import { NO_MORE_THREADS, type PromptThreads } from './prompt-threads.ts'
import { WorkQueue } from '../in-process/work-queue.ts'

/** The cheapest way to choose a token, for those that nobody wants. */
const GREEDY: LlamaEvaluateOptions = {
  temperature: 0,
  topK: 1,
  topP: 1,
  minP: 0,
  seed: 0,
  yieldEogToken: true,
}

/** What the slots of one model share. */
export interface SlotParts {
  context: LlamaContext
  pace: PrefillPace
  clock: Clock
  /** Default: one of its own. */
  gate?: ContextGate
  /** Default: the model's own threads are all there are. */
  threads?: PromptThreads
}

/** Asked between two native steps: the work is wanted no longer. */
export type Stopped = () => boolean

/**
 * One sequence of the context, kept for the life of the model. Its tokens as the engine confirms them are the only identity of what
 * is in it (F11): nothing here remembers texts.
 */
export class Slot {
  readonly #context: LlamaContext
  readonly #pace: PrefillPace
  readonly #clock: Clock
  readonly #gate: ContextGate
  readonly #threads: PromptThreads
  #sequence: LlamaSequence
  #prefilling: LlamaSteps | undefined
  #broken = false

  /** The prompt is evaluated and the answer under way: what the slot holds only grows. */
  isAnswering = false

  /** All that is done with the slot: a run that was given up may have a native step to finish before the next can begin. */
  readonly work: WorkQueue = new WorkQueue()

  constructor({ context, pace, clock, gate, threads }: SlotParts) {
    this.#context = context
    this.#pace = pace
    this.#clock = clock
    this.#gate = gate ?? new ContextGate()
    this.#threads = threads ?? NO_MORE_THREADS
    this.#sequence = context.getSequence()
  }

  get sequence(): LlamaSequence {
    return this.#sequence
  }

  /** Tokens it holds. */
  get tokens(): number {
    return this.#broken ? 0 : this.#sequence.nextTokenIndex
  }

  /** To be awaited before each step of an answer; undefined = go on at once. */
  get turn(): Promise<void> | undefined {
    return this.#gate.turn
  }

  /** Does what needs the context's lock, which steps of other slots would hold for ever. */
  alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#gate.alone(work)
  }

  /** What the slot holds is not certain any more: it is thrown away before the next work. */
  markBroken(): void {
    this.#broken = true
  }

  /**
   * Erases everything that does not agree with the prompt; the last token always goes, because it has to be evaluated for the first
   * of the answer. With `keptPrefix` 0 everything goes (R3, F1). @returns tokens kept
   */
  async keep(prompt: readonly number[], keptPrefix: number): Promise<number> {
    if (keptPrefix === 0 || this.#broken) return this.clear()
    const sequence = this.#sequence
    const agreeing = sequence.compareContextTokens(prompt).firstDifferentIndex
    const kept = Math.min(agreeing, prompt.length - 1)
    if (kept >= sequence.nextTokenIndex) return kept
    // Some kinds of cache cannot forget their end: the engine would evaluate the beginning again in one go, deaf to aborts.
    const costly = sequence.needsCheckpoints && sequence.getRestoreToPrefixIndexEvaluationSize(kept - 1) > 0
    if (kept <= 0 || costly) return this.clear()
    await this.alone(() => sequence.eraseContextTokenRanges([{ start: kept, end: sequence.nextTokenIndex }]))
    return sequence.nextTokenIndex
  }

  /** Erases everything. @returns tokens kept, so none */
  async clear(): Promise<0> {
    await this.alone(() => (this.#broken ? this.#renew() : this.#sequence.clearHistory()))
    return 0
  }

  /**
   * Evaluates the prompt in pieces, all but the last, which generation begins with on the model's own threads: one token where pieces
   * take all cores. @returns that last piece
   */
  async prefill(prompt: readonly number[], stopped: Stopped, moved: () => void): Promise<number[]> {
    this.#pace.enter()
    try {
      for (;;) {
        const done = this.#sequence.nextTokenIndex
        const rest = prompt.length - done
        const piece = this.#pieceOf(rest)
        if (stopped() || piece === undefined) return prompt.slice(done)
        if (this.turn !== undefined) await this.turn
        await this.#evaluatePiece(prompt.slice(done, done + piece.tokens), piece)
        moved()
      }
    } finally {
      this.#pace.leave()
    }
  }

  /** Evaluates what {@link prefill} left, where no answer is wanted. */
  async finishPrefill(rest: readonly number[]): Promise<void> {
    if (this.turn !== undefined) await this.turn
    await this.#evaluate(rest)
  }

  /** Undefined when the rest is the last. */
  #pieceOf(rest: number): Piece | undefined {
    const piece = this.#pace.next(this.#threads.areFree)
    const last = piece.width === 'all' ? 1 : piece.tokens
    return rest <= last ? undefined : { ...piece, tokens: Math.min(piece.tokens, rest - 1) }
  }

  async #evaluatePiece(tokens: readonly number[], piece: Piece): Promise<void> {
    const begun = this.#clock.now()
    const giveBack = piece.width === 'all' ? this.#threads.take() : undefined
    try {
      await this.#evaluate(tokens)
    } finally {
      giveBack?.()
    }
    this.#pace.record(piece, this.#clock.now() - begun)
  }

  /** Ends what is kept open for evaluating. The slot is of no use afterwards. */
  async close(): Promise<void> {
    await this.#prefilling?.return()
    this.#prefilling = undefined
  }

  /**
   * One generator evaluates the pieces of all prompts, and the token it offers each time is ignored: every new one would allocate a
   * sampler as large as the vocabulary (1.5 MB for 128,000 tokens) that stays until some garbage collection, 30 MB for one prompt.
   */
  async #evaluate(piece: readonly number[]): Promise<void> {
    const begun = this.#prefilling
    const steps = begun ?? this.#sequence.evaluateWithMetadata(piece, {}, GREEDY)
    this.#prefilling = steps
    const { done } = await steps.next(begun === undefined ? undefined : piece)
    if (done === true) throw new Error('The engine stopped evaluating.')
  }

  async #renew(): Promise<void> {
    await this.close()
    await this.#sequence.dispose()
    this.#sequence = this.#context.getSequence()
    this.#broken = false
  }
}
