/** A stretch of a file, `start…end` without `end`, of which the first `done` bytes are there. */
export interface ByteRange {
  start: number
  end: number
  done: number
}

/** Files at least this large are fetched in several parts at once. */
const PARALLEL_FROM = 64 * 1024 * 1024

/** Cuts a file into as many ranges as are fetched at once. */
export function splitRanges(size: number, parts: number, parallelFrom: number = PARALLEL_FROM): ByteRange[] {
  const count = size >= parallelFrom ? Math.max(1, parts) : 1
  const each = Math.ceil(size / count)
  return Array.from({ length: count }, (_, index) => ({
    start: Math.min(size, index * each),
    end: Math.min(size, (index + 1) * each),
    done: 0,
  }))
}

export interface ContentRange {
  start: number
  end: number
  total: number | null
}

/** `bytes 0-99/1000` as a range without its end; undefined for anything else. */
export function parseContentRange(header: string | undefined): ContentRange | undefined {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(header?.trim() ?? '')
  if (match === null) return undefined
  const [, start, last, total] = match
  return { start: Number(start), end: Number(last) + 1, total: total === '*' ? null : Number(total) }
}
