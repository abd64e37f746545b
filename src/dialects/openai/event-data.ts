/** One server-sent event of the OpenAI kind: no name, one line of JSON. */
export function eventData(json: string): string {
  return `data: ${json}\n\n`
}

export const DONE = 'data: [DONE]\n\n'

export const EVENT_STREAM = 'text/event-stream; charset=utf-8'

/** A comment line: clients skip it, proxies see that the connection lives. */
export const HEARTBEAT = ': waiting\n\n'
