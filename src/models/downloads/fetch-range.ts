import { abortError } from '../../base/abort.ts'
import { type ByteRange, parseContentRange } from './byte-range.ts'
import { RemoteFileChanged, transferError } from './download-error.ts'
import { connectionError, type HttpAnswer, type HttpClient } from './http-client.ts'
import type { PartFile } from './part-file.ts'

export interface FetchOptions {
  http: HttpClient
  url: URL
  part: PartFile
  /** Whether the server serves ranges. */
  ranges: boolean
  signal: AbortSignal
  onBytes: () => void
}

/**
 * Fetches what is missing of one range into the part file. @throws ModelyardError `download_failed` (retryable when the connection
 * broke), RemoteFileChanged when the server has another file now
 */
export async function fetchRange(range: ByteRange, options: FetchOptions): Promise<void> {
  if (range.start + range.done >= range.end) return
  const { http, url, signal } = options
  const answer = await http.get(url, { signal, headers: rangeHeaders(range, options) })
  try {
    checkAnswer(answer, range, options)
    await copyBody(answer, range, options)
  } finally {
    answer.body.destroy()
  }
  if (range.start + range.done < range.end) {
    const missing = range.end - range.start - range.done
    throw transferError(url, `the connection ended ${missing} bytes early`, { retryable: true })
  }
}

/** Fetches a file whose size is not known, from its beginning. */
export async function fetchWhole(options: FetchOptions): Promise<void> {
  const { http, url, signal, part } = options
  const range: ByteRange = { start: 0, end: Number.MAX_SAFE_INTEGER, done: 0 }
  part.state.ranges = [range]
  const answer = await http.get(url, { signal })
  try {
    await copyBody(answer, range, options)
  } finally {
    answer.body.destroy()
  }
  range.end = range.done
  await part.truncate(range.end)
}

function rangeHeaders(range: ByteRange, { ranges, part }: FetchOptions): Record<string, string> {
  if (!ranges) return {}
  const { validator } = part.state
  return {
    range: `bytes=${range.start + range.done}-${range.end - 1}`,
    ...(validator === undefined ? {} : { 'if-range': validator }),
  }
}

/** The answer must be the bytes that were asked for, of the file that was begun. */
function checkAnswer(
  { status, headers }: HttpAnswer,
  range: ByteRange,
  { ranges, url, part }: FetchOptions,
): void {
  const { validator, size } = part.state
  const changed =
    validator?.startsWith('"') === true && headers['etag'] !== undefined && headers['etag'] !== validator
  if (status === 416 || changed) throw new RemoteFileChanged('the file on the server is another one now')
  if (status === 206) {
    const got = parseContentRange(headers['content-range'])
    if (got?.start === range.start + range.done && got.end <= range.end && got.total === size) return
    if (got !== undefined && got.total !== size) throw new RemoteFileChanged('the file has another size now')
    throw transferError(url, 'sent other bytes than were asked for', { retryable: false })
  }
  // The whole file: what `If-Range` asks for when it changed, and all that a server without ranges can do.
  if (ranges) throw new RemoteFileChanged('the server sent the file anew')
  range.done = 0
}

async function copyBody(answer: HttpAnswer, range: ByteRange, options: FetchOptions): Promise<void> {
  const { part, signal, onBytes } = options
  const body = answer.body[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await nextChunk(body, options)
    if (signal.aborted) throw abortError(signal)
    if (done === true) return
    const chunk = value as Buffer
    const room = range.end - range.start - range.done
    // More than was promised is never written: it would run into the next range.
    await part.write(chunk.subarray(0, room), range.start + range.done)
    range.done += Math.min(chunk.length, room)
    onBytes()
    if (chunk.length > room) {
      throw transferError(options.url, 'sent more bytes than the file has', { retryable: false })
    }
  }
}

/** Errors of reading are told from errors of writing: only the former are worth another try. */
async function nextChunk(
  body: AsyncIterator<unknown>,
  { signal, url }: FetchOptions,
): Promise<IteratorResult<unknown>> {
  try {
    return await body.next()
  } catch (error) {
    throw signal.aborted ? abortError(signal) : connectionError(url, error)
  }
}
