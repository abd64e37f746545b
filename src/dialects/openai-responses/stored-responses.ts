import { ModelyardError } from '../../base/errors.ts'
import type { ResponseRecords, StoredResponse } from '../../runs/response-records.ts'
import type { DialectAction, DialectAnswer, DialectRequest } from '../dialect.ts'
import { invalidField, notImplemented, type Fields } from '../fields.ts'
import type { YardPort } from '../yard-port.ts'

/** More turns than any context holds; a longer chain would only be read to be refused. */
const MOST_TURNS = 1000

/** @throws unsupported where responses are not kept */
export function requireRecords({ responses }: YardPort, param: string, instead: string): ResponseRecords {
  if (responses !== undefined) return responses
  throw notImplemented(
    param,
    `This server keeps no responses; ${instead}, or have its operator switch "server.responses" on.`,
  )
}

/** What was said up to a response, itself included, oldest first. @throws invalid_request for one that is not there any more */
export function earlierItems(records: ResponseRecords, id: string): unknown[] {
  const turns: unknown[][] = []
  for (let next: string | null = id; next !== null;) {
    const stored: StoredResponse | undefined = records.read(next)
    if (stored === undefined) throw unknownPrevious(id, next)
    const { output } = JSON.parse(stored.response) as { output: unknown[] }
    turns.push([...(JSON.parse(stored.items) as unknown[]), ...output])
    if (turns.length > MOST_TURNS)
      throw invalidField(
        'previous_response_id',
        `The conversation has more than ${MOST_TURNS} responses; begin a new one.`,
      )
    next = stored.previous
  }
  return turns.toReversed().flat()
}

function unknownPrevious(id: string, missing: string): ModelyardError {
  const message =
    id === missing
      ? `There is no response "${id}"; it was not stored, or has been deleted.`
      : `The response "${id}" goes on from "${missing}", which has been deleted; send the items of the conversation instead.`
  return invalidField('previous_response_id', message)
}

/** A request's own input as items, so that it can be input again. */
export function inputItems(input: unknown): unknown[] {
  return Array.isArray(input) ? input : [{ type: 'message', role: 'user', content: input }]
}

/** `GET /v1/responses/{id}` */
export function findResponse({ params, query }: DialectRequest): DialectAction {
  const id = params['*'] ?? ''
  if (id.includes('/'))
    throw notImplemented('id', 'What belongs to a response is not listed apart; read the response itself.')
  if (new URLSearchParams(query).get('stream') === 'true')
    throw notImplemented('stream', 'A response that is kept is sent whole; leave it out.')
  return {
    type: 'answer',
    answer: async (port) => {
      const stored = requireRecords(port, 'id', 'keep the answer yourself').read(id)
      if (stored === undefined) throw unknownResponse(id)
      return { contentType: 'application/json', body: stored.response }
    },
  }
}

/** `DELETE /v1/responses/{id}` */
export function removeResponse({ params }: DialectRequest): DialectAction {
  const id = params['*'] ?? ''
  return {
    type: 'answer',
    answer: async (port): Promise<DialectAnswer> => {
      if (!requireRecords(port, 'id', 'there is nothing to delete').remove(id)) throw unknownResponse(id)
      const answer: Fields = { id, object: 'response', deleted: true }
      return { contentType: 'application/json', body: JSON.stringify(answer) }
    },
  }
}

function unknownResponse(id: string): ModelyardError {
  return new ModelyardError(
    'not_found',
    `There is no response "${id}"; it was not stored, or has been deleted.`,
    {
      details: { param: 'id' },
    },
  )
}
