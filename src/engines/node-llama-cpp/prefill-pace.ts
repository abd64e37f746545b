import type { LoadShape } from '../llama-cpp/footprint.ts'

/** Milliseconds that evaluating one piece of a prompt should take: an abort waits no longer for the slot (BR-13). */
const TARGET = 190
const FIRST = 16
const LEAST = 16
/** Rows at which llama.cpp's flash attention on a CPU goes over to whole tiles: a prompt in pieces of fewer is 25 % slower (ggml, `GGML_FA_TILE_Q`). */
const TILE = 64

function roundTo(step: number, tokens: number): number {
  return Math.round(tokens / step) * step
}

function roundDownTo(step: number, tokens: number): number {
  return Math.floor(tokens / step) * step
}

/**
 * How much of a prompt is evaluated at a time. One for a model: the speed it measures is that of all slots together, and what one may
 * use is divided by how many are at it.
 */
export class PrefillPace {
  readonly #most: number
  readonly #tile: number
  #active = 0
  /** Tokens per millisecond, of all slots together. */
  #speed: number | undefined

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

  /** Tokens to evaluate next. */
  get piece(): number {
    const share = this.#speed === undefined ? FIRST : (this.#speed * TARGET) / Math.max(1, this.#active)
    return Math.min(
      this.#most,
      share < TILE ? Math.max(LEAST, roundTo(LEAST, share)) : roundDownTo(this.#tile, share),
    )
  }

  record(tokens: number, milliseconds: number): void {
    const speed = (tokens * Math.max(1, this.#active)) / Math.max(0.1, milliseconds)
    this.#speed = this.#speed === undefined ? speed : (this.#speed + speed) / 2
  }
}
