/** What we use of `sherpa-onnx-node`; the package is optional, so that its own types are not at hand. */
export interface SherpaModule {
  OfflineTts: { createAsync: (configuration: VoiceConfiguration) => Promise<Voice> }
}

export interface VoiceConfiguration {
  model: {
    vits?: { model: string; tokens: string; dataDir: string; lexicon?: string }
    kokoro?: { model: string; voices: string; tokens: string; dataDir: string; lexicon?: string }
    numThreads: number
    debug: false
    provider: 'cpu'
  }
  /** Sentences that are made at once: with one, sound comes sentence by sentence. */
  maxNumSentences: number
}

export interface Voice {
  numSpeakers: number
  sampleRate: number
  generateAsync: (request: {
    text: string
    sid: number
    speed: number
    enableExternalBuffer: false
    /** False ends it. */
    onProgress: (progress: { samples: Float32Array }) => boolean
  }) => Promise<{ samples: Float32Array; sampleRate: number }>
}

export interface Mp3Encoder {
  configure: (options: { sampleRate: number; channels: 1; bitrate: number }) => void
  /** The bytes are valid until the next call. */
  encode: (channels: [Float32Array]) => Uint8Array
  finalize: () => Uint8Array
}

export interface Resampler {
  full: (samples: Float32Array) => Float32Array
  destroy: () => void
}
