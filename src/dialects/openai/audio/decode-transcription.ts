import { SOUND_FORMATS, soundFormatOf } from '../../../tasks/sound-format.ts'
import type { TranscriptionTask } from '../../../tasks/transcription-task.ts'
import { decodeBody, decodeModel } from '../../decode-model.ts'
import type { DialectRequest, RunAction } from '../../dialect.ts'
import { decodeExtensions } from '../../extensions.ts'
import {
  asArray,
  invalidField,
  notImplemented,
  optionalBoolean,
  optionalChoice,
  optionalNumber,
  optionalString,
  type Fields,
} from '../../fields.ts'
import { requireFile, typedFields } from '../../form.ts'
import { refuseUnsupported } from '../../parameter-table.ts'
import { TRANSCRIPTION_PARAMETERS } from '../parameters.ts'
import { TRANSCRIPT_FORMATS, TranscriptionAnswer, TranscriptionStream } from './encode-transcription.ts'

/** `POST /v1/audio/transcriptions` */
export function decodeTranscription(request: DialectRequest): RunAction {
  return decode(request, false)
}

/** `POST /v1/audio/translations`: English, whatever is spoken. */
export function decodeTranslation(request: DialectRequest): RunAction {
  return decode(request, true)
}

function decode(request: DialectRequest, translate: boolean): RunAction {
  const body = typedFields(decodeBody(request.body), ['temperature'], ['stream'])
  const model = decodeModel(body)
  refuseUnsupported(body, TRANSCRIPTION_PARAMETERS)
  refuseWordTimes(body)
  const format = optionalChoice(body, 'response_format', TRANSCRIPT_FORMATS) ?? 'json'
  const stream = optionalBoolean(body, 'stream') === true
  if (stream && format !== 'json' && format !== 'text') {
    throw invalidField('response_format', `A stream has the 'response_format' json or text, not ${format}.`)
  }
  return {
    type: 'run',
    model,
    tasks: [taskOf(body, translate)],
    options: decodeExtensions(body, request.headers),
    encoder: stream ? new TranscriptionStream() : new TranscriptionAnswer(format, translate),
    featureFields: { task: 'model' },
  }
}

function taskOf(body: Fields, translate: boolean): TranscriptionTask {
  const { data } = requireFile(body, 'file')
  if (soundFormatOf(data) === undefined) {
    throw invalidField('file', `'file' is no sound that can be read; send ${SOUND_FORMATS}.`)
  }
  const language = optionalString(body, 'language')
  const prompt = optionalString(body, 'prompt')
  const temperature = optionalNumber(body, 'temperature', { least: 0, most: 1 })
  if (language !== undefined && language !== '' && !/^[a-z]{2,3}$/.test(language)) {
    throw invalidField('language', `'language' must be a code of ISO 639, like 'en'.`)
  }
  return {
    kind: 'transcription',
    audio: data,
    ...(language !== undefined && language !== '' && !translate && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperature }),
    ...(translate && { translate }),
  }
}

/** Segments have times in every model; words only with a graph that gives its attention away. */
function refuseWordTimes(body: Fields): void {
  const name = ['timestamp_granularities', 'timestamp_granularities[]'].find((key) => body[key] !== undefined)
  if (name === undefined) return
  const value = body[name]
  const asked = typeof value === 'string' ? [value] : asArray(value, name)
  if (!asked.every((entry) => entry === 'segment' || entry === 'word')) {
    throw invalidField(name, `'${name}' must hold 'segment' or 'word'.`)
  }
  if (asked.includes('word'))
    throw notImplemented(name, 'Words have no times here; ask for those of segments.')
}
