import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AudioFormat } from '../../tasks/speech-task.ts'
import type { Mp3Encoder, Resampler } from './speech-module.ts'

/** What clients of OpenAI's API take `pcm` for. */
const PCM_RATE = 24_000
const MP3_BITRATE = 96

/** Samples to bytes of a format, piece by piece. */
export interface SoundWriter {
  write: (samples: Float32Array) => Uint8Array
  /** What is left at the end. */
  end: () => Uint8Array
}

/** A writer for one sound. `modules` is where the engine's packages lie. */
export async function soundWriter(
  format: AudioFormat,
  sampleRate: number,
  modules: string,
): Promise<SoundWriter> {
  if (format === 'wav') return wavWriter(sampleRate)
  return format === 'pcm' ? await pcmWriter(sampleRate, modules) : await mp3Writer(sampleRate, modules)
}

function wavWriter(sampleRate: number): SoundWriter {
  let begun = false
  return {
    write(samples) {
      const data = sixteenBits(samples)
      const piece = begun ? data : Buffer.concat([wavHeader(sampleRate), data])
      begun = true
      return piece
    },
    end: () => (begun ? new Uint8Array() : wavHeader(sampleRate)),
  }
}

/** The length is not known ahead: the largest number stands for "until the end", as in all streamed WAV. */
function wavHeader(sampleRate: number): Buffer {
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(0xff_ff_ff_ff, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(sampleRate, 24)
  header.writeUInt32LE(sampleRate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(0xff_ff_ff_ff, 40)
  return header
}

function sixteenBits(samples: Float32Array): Buffer {
  const bytes = Buffer.alloc(samples.length * 2)
  samples.forEach((value, at) => {
    bytes.writeInt16LE(Math.round(Math.max(-1, Math.min(1, value)) * 32_767), at * 2)
  })
  return bytes
}

async function pcmWriter(sampleRate: number, modules: string): Promise<SoundWriter> {
  const path = join(modules, '@alexanderolsen/libsamplerate-js/dist/libsamplerate.js')
  const imported = (await import(pathToFileURL(path).href)) as {
    default: { create: (channels: number, from: number, to: number, options: object) => Promise<Resampler> }
  }
  const resampler = await imported.default.create(1, sampleRate, PCM_RATE, { converterType: 1 })
  return {
    write: (samples) => sixteenBits(resampler.full(samples)),
    end() {
      resampler.destroy()
      return new Uint8Array()
    },
  }
}

async function mp3Writer(sampleRate: number, modules: string): Promise<SoundWriter> {
  const path = join(modules, 'wasm-media-encoders/dist/es/index.mjs')
  const { createMp3Encoder } = (await import(pathToFileURL(path).href)) as {
    createMp3Encoder: () => Promise<Mp3Encoder>
  }
  const encoder = await createMp3Encoder()
  encoder.configure({ sampleRate, channels: 1, bitrate: MP3_BITRATE })
  return {
    write: (samples) => Uint8Array.from(encoder.encode([samples])),
    end: () => Uint8Array.from(encoder.finalize()),
  }
}
