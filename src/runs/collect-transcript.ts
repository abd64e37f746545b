import type { Usage } from '../tasks/usage.ts'
import type { Run, RunInfo } from './run.ts'

/** What is said from one second to another. */
export interface TranscriptSegment {
  start: number
  end: number
  text: string
}

/** All that was said. */
export interface Transcript {
  text: string
  segments: TranscriptSegment[]
  /** Of the sound. */
  seconds: number
  language: string | undefined
  usage: Usage
  info: RunInfo
}

/** Runs a transcription to its end. @throws ModelyardError as the run does; a call that was aborted or timed out rejects (P13) */
export async function collectTranscript(run: Run): Promise<Transcript> {
  const segments: TranscriptSegment[] = []
  let seconds = 0
  let language: string | undefined
  for (;;) {
    const next = await run.parts.next()
    if (next.done === true) {
      const text = segments.map((segment) => segment.text).join('')
      return { text: text.trim(), segments, seconds, language, usage: next.value.usage, info: run.info }
    }
    const part = next.value
    if (part.type === 'sound') ({ seconds, language } = { language: undefined, ...part })
    if (part.type === 'segment') segments.push({ start: part.start, end: part.end, text: part.text })
  }
}
