/** How sound is written down: `pcm` is 24,000 samples per second, 16 bits, little-endian, one channel, without a header. */
export type AudioFormat = 'wav' | 'pcm' | 'mp3'

export const AUDIO_FORMATS: readonly AudioFormat[] = ['wav', 'pcm', 'mp3']

/** A text to be spoken. */
export interface SpeechTask {
  kind: 'speech'
  /** Not empty. */
  text: string
  format: AudioFormat
  /** Number or name of one of the model's speakers; absent = the first. */
  voice?: string
  /** 0.25…4; default 1 */
  speed?: number
}
