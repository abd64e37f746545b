import { sleep, type Clock } from '../../base/clock.ts'
import { MelWindow, melPieces } from './mel-pieces.ts'
import type { FeatureExtractor, Tensor, TransformersModule } from './transformers-module.ts'

/** Samples of a window to what Whisper's encoder takes. */
export class WhisperFeatures {
  readonly #module: TransformersModule
  readonly #extractor: FeatureExtractor
  readonly #clock: Clock

  static async load(module: TransformersModule, folder: string, clock: Clock): Promise<WhisperFeatures> {
    const { feature_extractor: extractor } = await module.AutoProcessor.from_pretrained(folder)
    return new WhisperFeatures(module, extractor, clock)
  }

  private constructor(module: TransformersModule, extractor: FeatureExtractor, clock: Clock) {
    this.#module = module
    this.#extractor = extractor
    this.#clock = clock
  }

  /**
   * Made piece by piece: a whole window takes a quarter of a second in which nothing else is heard. Undefined when nobody wants it any
   * more.
   */
  async of(samples: Float32Array, isOver: () => boolean): Promise<Tensor | undefined> {
    const { nb_max_frames: frames, feature_size: bands } = this.#extractor.config
    const window = new MelWindow(bands, frames)
    for (const piece of melPieces(samples, frames)) {
      const { input_features: made } = await this.#extractor(piece.samples, {
        max_length: piece.samples.length,
      })
      window.put(piece, made.data as Float32Array)
      await sleep(this.#clock, 0)
      if (isOver()) return undefined
    }
    return new this.#module.Tensor('float32', window.finish(), [1, bands, frames])
  }
}
