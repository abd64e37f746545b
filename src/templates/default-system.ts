import type { ControlTexts } from './control-texts.ts'
import { SYSTEM_PLACE } from './marks.ts'

/** What is needed to tell the parts of a turn from each other. */
export interface TurnMarkers {
  control: ControlTexts
  /** Control texts that end a turn. */
  ends: ReadonlySet<string>
  bosToken?: string | undefined
}

/**
 * The prompt without the system text that the template adds by itself.
 * @param plain rendered without a system message
 * @param marked the same with a system message whose text is {@link SYSTEM_PLACE}
 *
 * Where both differ by nothing but the mark, the template has no text of its own. Otherwise the mark stands where that text was: it
 * is taken out, and with it the turn around it when nothing else is in it (lists of tools or dates may be).
 */
export function withoutDefaultSystem(plain: string, marked: string, markers: TurnMarkers): string {
  const place = marked.indexOf(SYSTEM_PLACE)
  if (place < 0 || ownText(plain, marked).trim() === '') return plain
  const before = marked.slice(0, place)
  const after = marked.slice(place + SYSTEM_PLACE.length)
  const start = turnStart(before, markers)
  if (start === undefined) return before.trim() === '' ? after.trimStart() : before + after
  const end = turnEnd(after, markers)
  return end === undefined ? before + after : before.slice(0, start) + after.slice(end)
}

/** What `plain` has where `marked` has something else. */
function ownText(plain: string, marked: string): string {
  const most = Math.min(plain.length, marked.length)
  let front = 0
  while (front < most && plain[front] === marked[front]) front++
  let back = 0
  while (back < most - front && plain.at(-1 - back) === marked.at(-1 - back)) back++
  return plain.slice(front, plain.length - back)
}

/** Where the turn begins whose header is all that stands at the end: `<|im_start|>system`, `<|start_header_id|>system<|end_header_id|>`, `<|system|>`. */
function turnStart(before: string, { control, bosToken }: TurnMarkers): number | undefined {
  const header = before.trimEnd()
  const closing = control.textBefore(header, header.length)
  const inner = header.slice(0, header.length - (closing?.length ?? 0))
  const named = inner.replace(/\s*(system|developer)\s*$/i, '')
  if (named === inner) {
    return closing === undefined || closing === bosToken ? undefined : inner.length
  }
  const opening = control.textBefore(named, named.length)
  return opening === undefined ? undefined : named.length - opening.length
}

/** Where the turn ends when only what closes it follows; 0 when the next turn opens at once. */
function turnEnd(after: string, { control, ends }: TurnMarkers): number | undefined {
  const start = after.length - after.trimStart().length
  const text = control.textAt(after, start)
  if (text === undefined) return undefined
  if (!ends.has(text)) return start
  const end = start + text.length
  return after.length - after.slice(end).trimStart().length
}
