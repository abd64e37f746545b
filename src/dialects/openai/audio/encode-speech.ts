import type { Part } from '../../../tasks/part.ts'
import type { AudioFormat } from '../../../tasks/speech-task.ts'
import type { RunEncoder } from '../../dialect.ts'
import { encodeError } from '../encode-error.ts'

const TYPES: Record<AudioFormat, string> = { wav: 'audio/wav', pcm: 'audio/pcm', mp3: 'audio/mpeg' }

/** Sound as it is made. What breaks off is cut: there is no place for an error in a sound. */
export class SpeechAnswer implements RunEncoder {
  readonly streaming = true
  readonly cutsOnFailure = true
  readonly contentType: string
  readonly fail: RunEncoder['fail'] = encodeError

  constructor(format: AudioFormat) {
    this.contentType = TYPES[format]
  }

  part(part: Part): string | Uint8Array {
    return part.type === 'audio' ? part.data : ''
  }

  end(): string {
    return ''
  }

  finish(): string {
    return ''
  }
}
