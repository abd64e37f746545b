import { isMap } from '../../base/is-map.ts'
import type { Part } from '../../tasks/part.ts'
import type { TranscriptionTask } from '../../tasks/transcription-task.ts'
import type { ReadDocument } from './document-reader.ts'
import { unreadable } from './upstream-error.ts'
import { wavSeconds } from './wav-length.ts'

type Segment = Part & { type: 'segment' }

/** What `/audio/transcriptions` heard: `verbose_json` with its segments, or a text alone, which is one segment then. */
export function transcriptParts(model: string, { audio, language: asked }: TranscriptionTask): ReadDocument {
  return (document) => {
    const { text, language = asked } = document
    if (typeof text !== 'string') throw unreadable(model, 'a transcript without a text')
    const told = segmentsOf(document['segments'])
    const seconds = secondsOf(document) ?? wavSeconds(audio) ?? told.at(-1)?.end ?? 0
    const sound: Part = {
      type: 'sound',
      seconds,
      ...(typeof language === 'string' && language !== '' && { language }),
    }
    if (told.length > 0) return [sound, ...spaced(told, text)]
    return text.trim() === '' ? [sound] : [sound, { type: 'segment', start: 0, end: seconds, text }]
  }
}

function segmentsOf(segments: unknown): Segment[] {
  if (!Array.isArray(segments)) return []
  return (segments as unknown[]).flatMap((segment): Segment[] => {
    if (!isMap(segment)) return []
    const { start, end, text } = segment
    const isWhole = typeof start === 'number' && typeof end === 'number' && typeof text === 'string'
    return isWhole ? [{ type: 'segment', start, end, text }] : []
  })
}

/** Some servers cut the spaces off between segments; together they are the text. */
function spaced(segments: Segment[], whole: string): Segment[] {
  const joined = segments.map(({ text }) => text).join('')
  if (joined.trim() === whole.trim()) return segments
  return segments.map((segment, index) =>
    index === 0 || /^\s/.test(segment.text) ? segment : { ...segment, text: ` ${segment.text}` },
  )
}

/** vLLM writes its duration as a text. */
function secondsOf({ duration, usage }: Readonly<Record<string, unknown>>): number | undefined {
  const counted = isMap(usage) ? usage['seconds'] : undefined
  const said = [duration, counted].find((value) => value !== undefined && value !== null)
  const seconds = typeof said === 'string' || typeof said === 'number' ? Number(said) : Number.NaN
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}
