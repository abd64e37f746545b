import { abortError } from '../../base/abort.ts'
import { transferError } from './download-error.ts'
import { connectionError, type HttpAnswer } from './http-client.ts'

/** A list of files of a very large repository takes a few megabytes. */
const MOST_BYTES = 32 * 1024 * 1024

/** The JSON of an answer. @throws download_failed when it is none, or larger than any list of files */
export async function readJson(url: URL, answer: HttpAnswer, signal: AbortSignal): Promise<unknown> {
  const text = await readText(url, answer, signal)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw transferError(url, 'did not answer with JSON', { retryable: false, cause })
  }
}

async function readText(url: URL, answer: HttpAnswer, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of answer.body) {
      chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size > MOST_BYTES) break
    }
  } catch (error) {
    throw signal.aborted ? abortError(signal) : connectionError(url, error)
  }
  if (size > MOST_BYTES) throw transferError(url, 'answered with far too much', { retryable: false })
  return Buffer.concat(chunks).toString('utf8')
}
