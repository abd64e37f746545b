import { formatBytes } from '../../base/bytes.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { ReplyBody } from './reply-body.ts'

/** Bytes: a whole answer must not fill the memory. */
const LONGEST_ANSWER = 64 * 1024 * 1024

/** A JSON object, when all of it has come. @param longest in bytes; default 64 MiB @throws ModelyardError `engine_failed` for what is none, or longer */
export async function documentOf(
  body: ReplyBody,
  model: string,
  longest: number = LONGEST_ANSWER,
): Promise<object> {
  const bytes = await body.whole(longest)
  if (bytes === undefined)
    throw new ModelyardError(
      'engine_failed',
      `The upstream of model "${model}" sent an answer of more than ${formatBytes(longest)}.`,
    )
  const value = parsed(bytes)
  if (typeof value === 'object' && value !== null) return value
  throw broken(model)
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    // What it is instead is not told: it may be a user's.
    return undefined
  }
}

/** R12: without its finish reason no answer is complete. */
export function broken(model: string): ModelyardError {
  return new ModelyardError(
    'engine_failed',
    `The upstream of model "${model}" ended its answer before it was complete.`,
  )
}
