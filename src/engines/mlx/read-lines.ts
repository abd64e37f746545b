import { ModelyardError } from '../../base/errors.ts'

/** Longest line that is read: a stream without line ends must not fill the memory. */
const LONGEST_LINE = 16 * 1024 * 1024

/** One line of an answer of the launcher. */
export interface WireLine {
  /** Tokens of the prompt that were there. */
  cached?: number
  /** Tokens of the prompt that were evaluated. */
  prefill?: number
  text?: string
  id?: number
  logprob?: number
  /** The likeliest tokens: id, text, log-probability. */
  top?: [id: number, text: string, logprob: number][]
  end?: 'stop' | 'length' | null
  error?: string
}

/** The lines as they come. @throws ModelyardError `engine_failed` for what is none */
export async function* readLines(body: AsyncIterable<Buffer>): AsyncGenerator<WireLine, void, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LONGEST_LINE) throw unreadable()
    for (const line of lines) if (line !== '') yield parsed(line)
  }
}

function parsed(line: string): WireLine {
  try {
    return JSON.parse(line) as WireLine
  } catch {
    throw unreadable()
  }
}

function unreadable(): ModelyardError {
  return new ModelyardError('engine_failed', 'The mlx worker sent what cannot be read.')
}
