/** One server-sent event: named after its type, one line of JSON. `fields` begins with a comma, or is empty. */
export function eventData(type: string, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}"${fields}}\n\n`
}

export const EVENT_STREAM = 'text/event-stream; charset=utf-8'

/** Clients skip it, proxies see that the connection lives. */
export const PING: string = eventData('ping', '')
