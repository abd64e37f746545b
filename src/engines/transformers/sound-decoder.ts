import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ModelyardError } from '../../base/errors.ts'
import { SOUND_FORMATS, soundFormatOf } from '../../tasks/sound-format.ts'

/** What speech models hear. */
export const SAMPLE_RATE = 16_000

/** Rates in Hz that are taken: the resampler takes no more, and of a second that is told with less a small file would make hours. */
const LOWEST_RATE = 1000
const HIGHEST_RATE = 192_000

interface DecodedSound {
  channelData: Float32Array[]
  sampleRate: number
}

interface Resampler {
  full: (samples: Float32Array) => Float32Array
  destroy: () => void
}

interface ResamplerModule {
  create: (channels: number, from: number, to: number, options: object) => Promise<Resampler>
}

/** Good enough for speech and twice as fast as the best one. */
const MEDIUM_QUALITY = 1

/** Sound files to samples, by the packages that come with the engine. */
export class SoundDecoder {
  readonly #decode: (bytes: Uint8Array) => Promise<DecodedSound>
  readonly #resampling: ResamplerModule

  /** `modules` is the engine's `node_modules`. */
  static async load(modules: string): Promise<SoundDecoder> {
    const [decoding, resampling] = (await Promise.all([
      import(pathToFileURL(join(modules, 'audio-decode/audio-decode.js')).href),
      import(pathToFileURL(join(modules, '@alexanderolsen/libsamplerate-js/dist/libsamplerate.js')).href),
    ])) as [{ default: SoundDecoder['decode'] }, ResamplerModule & { default?: ResamplerModule }]
    return new SoundDecoder(decoding.default as never, resampling.default ?? resampling)
  }

  private constructor(decode: (bytes: Uint8Array) => Promise<DecodedSound>, resampling: ResamplerModule) {
    this.#decode = decode
    this.#resampling = resampling
  }

  /** 16,000 samples per second of one channel. @throws ModelyardError `invalid_request` for what is no sound, or has none */
  async decode(bytes: Uint8Array): Promise<Float32Array> {
    const { channelData, sampleRate } = await this.#read(bytes)
    const mixed = mix(channelData)
    if (mixed.length === 0) throw unreadable(bytes, 'there are no samples in it')
    if (!(sampleRate >= LOWEST_RATE && sampleRate <= HIGHEST_RATE))
      throw unreadable(bytes, wrongRate(sampleRate))
    if (!isSound(mixed)) throw unreadable(bytes, 'some of its samples are no numbers')
    if (sampleRate === SAMPLE_RATE) return mixed
    const resampler = await this.#resampling.create(1, sampleRate, SAMPLE_RATE, {
      converterType: MEDIUM_QUALITY,
    })
    try {
      return resampler.full(mixed)
    } finally {
      resampler.destroy()
    }
  }

  async #read(bytes: Uint8Array): Promise<DecodedSound> {
    try {
      return await this.#decode(bytes)
    } catch (cause) {
      throw unreadable(bytes, 'its bytes are damaged', cause)
    }
  }
}

function mix(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(), ...others] = channels
  if (others.length === 0) return first
  return first.map((value, at) => (value + sum(others, at)) / channels.length)
}

function sum(channels: readonly Float32Array[], at: number): number {
  return channels.reduce((total, channel) => total + (channel[at] ?? 0), 0)
}

/** A model makes a long text of nothing out of what is no number. */
function isSound(samples: Float32Array): boolean {
  // Zero for each finite one, no number as soon as one is not.
  let difference = 0
  for (const sample of samples) difference += sample - sample
  return difference === 0
}

function wrongRate(rate: number): string {
  return `its rate of ${rate} Hz is not between ${LOWEST_RATE} and ${HIGHEST_RATE}`
}

function unreadable(bytes: Uint8Array, why: string, cause?: unknown): ModelyardError {
  const what = soundFormatOf(bytes)?.toUpperCase() ?? 'none of the known formats'
  return new ModelyardError(
    'invalid_request',
    `The sound cannot be read (${what}, ${bytes.length} bytes): ${why}. Send a whole file of ${SOUND_FORMATS}.`,
    { details: { param: 'file' }, cause },
  )
}
