/** What was said between two moments, in seconds from the beginning of the window. */
export interface TokenSegment {
  start: number
  end: number
  tokens: number[]
}

/** One window's answer, cut at its marks of time, and where the next window begins. */
export interface HeardWindow {
  segments: TokenSegment[]
  /** Seconds from the beginning of the window. */
  next: number
}

/** Seconds between two marks of time. */
const STEP = 0.02

/** A window moves on by this much at least, whatever the model says. */
const LEAST_MOVE = 1

/**
 * Cuts Whisper's tokens at their marks of time. A sentence that was not finished in a full window is left for the next one, which begins
 * where the last finished one ended; so long sounds are heard without gaps (OpenAI's own procedure). Pure.
 * @param firstMark the token that means 0.00 seconds
 * @param seconds length of the window
 * @param isLast nothing comes after this window
 */
export function cutAtMarks(
  tokens: readonly number[],
  firstMark: number,
  seconds: number,
  isLast: boolean,
): HeardWindow {
  const segments: TokenSegment[] = []
  let start: number | undefined
  let words: number[] = []
  for (const token of tokens) {
    if (token < firstMark) words.push(token)
    else {
      const time = Math.min((token - firstMark) * STEP, seconds)
      if (words.length > 0) segments.push({ start: start ?? lastEnd(segments), end: time, tokens: words })
      words = []
      start = time
    }
  }
  const unfinished = words.length > 0
  const end = lastEnd(segments)
  if (unfinished && (isLast || segments.length === 0)) {
    segments.push({ start: start ?? end, end: seconds, tokens: words })
    return { segments, next: seconds }
  }
  if (isLast || segments.length === 0) return { segments, next: seconds }
  return { segments, next: Math.max(LEAST_MOVE, end) }
}

function lastEnd(segments: readonly TokenSegment[]): number {
  return segments.at(-1)?.end ?? 0
}
