import { AUDIO_FORMATS, type AudioFormat, type SpeechTask } from '../../../tasks/speech-task.ts'
import { decodeBody, decodeModel } from '../../decode-model.ts'
import type { DialectRequest, RunAction } from '../../dialect.ts'
import { decodeExtensions } from '../../extensions.ts'
import {
  asString,
  invalidField,
  notImplemented,
  optionalNumber,
  optionalString,
  type Fields,
} from '../../fields.ts'
import { refuseUnsupported } from '../../parameter-table.ts'
import { SPEECH_PARAMETERS } from '../parameters.ts'
import { SpeechAnswer } from './encode-speech.ts'

/** Formats of the API for which there is no encoder here. */
const OTHER_FORMATS = ['opus', 'aac', 'flac']

/** `POST /v1/audio/speech` */
export function decodeSpeech(request: DialectRequest): RunAction {
  const body = decodeBody(request.body)
  const model = decodeModel(body)
  refuseUnsupported(body, SPEECH_PARAMETERS)
  const task = taskOf(body)
  return {
    type: 'run',
    model,
    tasks: [task],
    options: decodeExtensions(body, request.headers),
    encoder: new SpeechAnswer(task.format),
    featureFields: { task: 'model' },
  }
}

function taskOf(body: Fields): SpeechTask {
  const text = asString(body['input'], 'input')
  if (text.trim() === '') throw invalidField('input', `'input' is empty.`)
  const voice = optionalString(body, 'voice')
  const speed = optionalNumber(body, 'speed', { least: 0.25, most: 4 })
  return {
    kind: 'speech',
    text,
    format: formatOf(body),
    ...(voice !== undefined && voice !== '' && { voice }),
    ...(speed !== undefined && { speed }),
  }
}

/** The API's default is mp3. */
function formatOf(body: Fields): AudioFormat {
  const asked = optionalString(body, 'response_format') ?? 'mp3'
  const format = AUDIO_FORMATS.find((known) => known === asked)
  if (format !== undefined) return format
  const known = AUDIO_FORMATS.join(', ')
  if (OTHER_FORMATS.includes(asked)) {
    throw notImplemented('response_format', `There is no encoder for ${asked} here; ask for ${known}.`)
  }
  throw invalidField('response_format', `'response_format' must be one of ${known}.`)
}
