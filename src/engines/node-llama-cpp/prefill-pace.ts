import type { LoadShape } from '../llama-cpp/footprint.ts'

/** Milliseconds that evaluating one piece of a prompt should take: an abort waits no longer for the slot (BR-13). */
const TARGET = 190
const FIRST = 16
const LEAST = 16
/** Rows at which llama.cpp's flash attention on a CPU goes over to whole tiles: a prompt in pieces of fewer is 25 % slower (ggml, `GGML_FA_TILE_Q`). */
const TILE = 64
/**
 * Pieces on the model's own threads after which all cores are tried again. Threads that wait for each other are slower than fewer where a
 * program outside has a core: 39 tokens a second on two threads beside one that computes, 114 on one (measured on two cores).
 */
const RETRY_AFTER = 16

function roundTo(step: number, tokens: number): number {
  return Math.round(tokens / step) * step
}

function roundDownTo(step: number, tokens: number): number {
  return Math.floor(tokens / step) * step
}

/** Which threads evaluate a piece: those of the model, or all cores. */
export type Width = 'own' | 'all'

export interface Piece {
  tokens: number
  width: Width
}

/**
 * How much of a prompt is evaluated at a time, and on which threads. One for a model: the speed it measures is that of all slots
 * together, and what one may use is divided by how many are at it.
 */
export class PrefillPace {
  readonly #most: number
  readonly #tile: number
  #active = 0
  /** Tokens per millisecond, of all slots together. */
  readonly #speeds: { own?: number; all?: number } = {}
  #sinceAll = 0

  constructor({ batchSize, flashAttention }: Pick<LoadShape, 'batchSize' | 'flashAttention'>) {
    this.#most = batchSize
    this.#tile = flashAttention === false ? LEAST : TILE
  }

  enter(): void {
    this.#active++
  }

  leave(): void {
    this.#active--
  }

  /** What to evaluate next. @param isFree whether all cores may be taken */
  next(isFree: boolean): Piece {
    const width = isFree && this.#isWorthAll() ? 'all' : 'own'
    return { width, tokens: this.#tokens(this.#speeds[width] ?? this.#speeds.own) }
  }

  record({ tokens, width }: Piece, milliseconds: number): void {
    this.#sinceAll = width === 'all' ? 0 : this.#sinceAll + 1
    // What is not a whole piece tells more of what a step costs than of the speed.
    if (tokens < LEAST) return
    const speed = (tokens * Math.max(1, this.#active)) / Math.max(0.1, milliseconds)
    const known = this.#speeds[width]
    this.#speeds[width] = known === undefined ? speed : (known + speed) / 2
  }

  /** The own threads are measured first. Whoever was slower on all cores tries them again now and then. */
  #isWorthAll(): boolean {
    const { own, all } = this.#speeds
    if (own === undefined || all === undefined || all >= own) return own !== undefined
    if (this.#sinceAll < RETRY_AFTER) return false
    delete this.#speeds.all
    return true
  }

  #tokens(speed: number | undefined): number {
    const share = speed === undefined ? FIRST : (speed * TARGET) / Math.max(1, this.#active)
    return Math.min(
      this.#most,
      share < TILE ? Math.max(LEAST, roundTo(LEAST, share)) : roundDownTo(this.#tile, share),
    )
  }
}
