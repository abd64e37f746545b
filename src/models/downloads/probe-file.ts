import { parseContentRange } from './byte-range.ts'
import { transferError } from './download-error.ts'
import type { HttpAnswer, HttpClient } from './http-client.ts'

/** What a server says of a file before it is fetched. */
export interface RemoteFacts {
  /** Null when it does not say. */
  size: number | null
  /** Whether parts of it can be asked for. */
  ranges: boolean
  /** Strong ETag, else modification date. */
  validator?: string
  /** SHA-256 that the hub promises, hex. */
  sha256?: string
}

/** Asks for the first byte: that tells size, validator and whether ranges are served, without reading the file. */
export async function probeFile(
  http: HttpClient,
  url: URL,
  signal: AbortSignal,
  answerWithin?: number,
): Promise<RemoteFacts> {
  const answer = await http.get(url, {
    signal,
    headers: { range: 'bytes=0-0' },
    ...(answerWithin === undefined ? {} : { answerWithin }),
  })
  try {
    return { ...sizeOf(url, answer), ...validatorOf(answer), ...promisedDigest(answer) }
  } finally {
    // A server without ranges sends the whole file now.
    if (answer.status === 200) answer.body.destroy()
    else await answer.discard()
  }
}

function sizeOf(url: URL, answer: HttpAnswer): Pick<RemoteFacts, 'size' | 'ranges'> {
  if (answer.status === 206) {
    const range = parseContentRange(answer.headers['content-range'])
    if (range === undefined)
      throw transferError(url, 'sent a range without saying which', { retryable: false })
    return { size: range.total, ranges: range.total !== null }
  }
  // An empty file has no first byte: "range not satisfiable", with the total of 0.
  if (answer.status === 416) return { size: 0, ranges: false }
  const length = answer.headers['content-length']
  return { size: length === undefined ? null : Number(length), ranges: false }
}

function validatorOf({ headers }: HttpAnswer): Pick<RemoteFacts, 'validator'> {
  const etag = headers['etag']
  if (etag !== undefined && !etag.startsWith('W/')) return { validator: etag }
  const modified = headers['last-modified']
  return modified === undefined ? {} : { validator: modified }
}

/** The hub names the sum of a large file in the answer that redirects to its store. */
function promisedDigest({ firstHeaders }: HttpAnswer): Pick<RemoteFacts, 'sha256'> {
  const digest = /^"?([0-9a-f]{64})"?$/i.exec(firstHeaders['x-linked-etag'] ?? '')?.[1]
  return digest === undefined ? {} : { sha256: digest.toLowerCase() }
}
