import type { ChatTask } from '../../tasks/chat-task.ts'
import type { RunAction } from '../dialect.ts'
import { optionalBoolean, optionalChoice, optionalString, type Fields } from '../fields.ts'
import { fitConversation } from '../fit-context.ts'
import type { YardPort } from '../yard-port.ts'
import { decodeInput } from './decode-items.ts'
import type { ResponseEnvelope } from './response-object.ts'
import { earlierItems, inputItems, requireRecords } from './stored-responses.ts'
import { Turns } from './turns.ts'

/** The conversation of a request: its instructions, what came before it, what it adds. @throws ModelyardError that names the wrong field */
export function conversationOf(body: Fields, earlier: readonly unknown[] = []): ChatTask['messages'] {
  const turns = new Turns()
  const instructions = optionalString(body, 'instructions')
  if (instructions !== undefined) turns.say('system', instructions)
  if (earlier.length > 0) decodeInput(earlier, turns)
  decodeInput(body['input'], turns)
  return turns.messages
}

/** What of a request depends on the yard: earlier responses, whether this one is kept, and what fits the context. */
export function prepareResponse(
  envelope: ResponseEnvelope,
  tasks: ChatTask[],
  now: () => number,
): NonNullable<RunAction['prepare']> {
  const { body, model } = envelope
  const previous = optionalString(body, 'previous_response_id') ?? null
  const store = optionalBoolean(body, 'store')
  const truncation = optionalChoice(body, 'truncation', ['auto', 'disabled'])
  return async (port, signal) => {
    const [task] = tasks as [ChatTask]
    if (previous !== null) {
      const records = requireRecords(
        port,
        'previous_response_id',
        'send the items of the conversation as input',
      )
      task.messages = conversationOf(body, earlierItems(records, previous))
    }
    if (store !== false) envelope.keep = keeping(port, envelope, { previous, store, now })
    if (truncation !== 'auto') return
    const { messages, dropped } = await fitConversation(task, { port, model, signal })
    task.messages = messages
    envelope.dropped = dropped
  }
}

interface Keeping {
  previous: string | null
  store: boolean | undefined
  now: () => number
}

/** As in the API, responses are kept unless the request says no; here only where the operator wants it. */
function keeping(
  port: YardPort,
  { id, model, body }: ResponseEnvelope,
  { previous, store, now }: Keeping,
): ResponseEnvelope['keep'] {
  const records =
    store === true
      ? requireRecords(port, 'store', 'leave it out and keep the answer yourself')
      : port.responses
  if (records === undefined) return undefined
  const items = JSON.stringify(inputItems(body['input']))
  return (response) => {
    records.write({ id, previous, model, createdAt: now(), items, response: JSON.stringify(response) })
  }
}
