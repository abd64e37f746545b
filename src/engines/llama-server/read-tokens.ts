import { ModelyardError } from '../../base/errors.ts'
import type { TokenLogprob } from '../../tasks/part.ts'

/** Longest event that is read: a stream without line ends must not fill the memory. */
const LONGEST_EVENT = 16 * 1024 * 1024

interface WireLogprob {
  token?: string
  bytes?: number[]
  logprob?: number
  top_logprobs?: WireLogprob[]
}

/** One event of `/completion`, as far as it is read. */
export interface WireToken {
  content?: string
  tokens?: number[]
  stop?: boolean
  tokens_predicted?: number
  tokens_evaluated?: number
  prompt_progress?: { total: number; cache: number; processed: number }
  completion_probabilities?: WireLogprob[]
  /** With the last event: why it ended. */
  stop_type?: 'none' | 'eos' | 'limit' | 'word'
  error?: { message?: string }
}

/** The events of a stream; it ends with the body, which is complete only when the last event said `stop`. @throws ModelyardError `engine_failed` */
export async function* readTokens(body: AsyncIterable<Buffer>): AsyncGenerator<WireToken[], void, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true })
    const end = rest.lastIndexOf('\n')
    if (end < 0) {
      if (rest.length > LONGEST_EVENT) throw unreadable('an event longer than 16 MiB')
      continue
    }
    const events = eventsIn(rest.slice(0, end))
    rest = rest.slice(end + 1)
    if (events.length > 0) yield events
  }
}

/** Each event of this server is one line; an error may come as a field of its own name. */
function eventsIn(lines: string): WireToken[] {
  const events: WireToken[] = []
  for (const line of lines.split('\n')) {
    if (line.startsWith('data: ')) {
      if (!line.startsWith('data: [DONE]')) events.push(parsed(line.slice(6)))
    } else if (line.startsWith('error: '))
      events.push({ error: parsed(line.slice(7)) as { message?: string } })
  }
  return events
}

function parsed(text: string): WireToken {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Told below: its text is not, for it may be a user's.
  }
  throw unreadable('an event that is no JSON object')
}

function unreadable(what: string): ModelyardError {
  return new ModelyardError('engine_failed', `The llama-server worker sent ${what}.`)
}

/** Of each token of the event, how likely it was, and so many of the likeliest others. */
export function tokenLogprobs(
  { completion_probabilities: tokens = [] }: WireToken,
  alternatives: number,
): TokenLogprob[] {
  return tokens.map(({ top_logprobs: top = [], ...token }) => ({
    ...written(token),
    top: top.slice(0, alternatives).map(written),
  }))
}

/** Stands for "never", as in OpenAI's answers: JSON has no −∞. */
const NEVER = -9999

function written({ token = '', bytes, logprob }: WireLogprob): TokenLogprob['top'][number] {
  return { text: token, bytes: bytes ?? [...Buffer.from(token)], logprob: Math.max(NEVER, logprob ?? NEVER) }
}
