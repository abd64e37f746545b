/** What is said in a sound, as text. */
export interface TranscriptionTask {
  kind: 'transcription'
  /** A whole file; its format is recognised by its content (WAV, FLAC, MP3, OGG, WebM, M4A, …). Never empty. */
  audio: Uint8Array
  /** Two letters (`de`); absent = the model judges it itself, models of one language take theirs. */
  language?: string
  /** The text comes in English, whatever is spoken. */
  translate?: boolean
  /** Text that came before: names and words in it are preferred. */
  prompt?: string
  /** 0…1; 0 (the default) takes the likeliest text. */
  temperature?: number
}
