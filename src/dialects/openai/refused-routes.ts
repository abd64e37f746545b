import type { DialectRequest, DialectRoute } from '../dialect.ts'
import { notImplemented } from '../fields.ts'

/** Routes of the API that need what no engine here has or what this server does not keep, and why not; each with all below it. */
export const REFUSED_ROUTES: readonly [path: string, why: string][] = [
  ['/images/edits', 'no engine here changes images; /images/generations makes them'],
  ['/images/variations', 'no engine here changes images; /images/generations makes them'],
  ['/videos', 'no engine here makes videos'],
  ['/moderations', 'no model here judges texts; ask a chat model'],
  ['/realtime', 'it takes no calls; transcribe, ask and speak one after the other'],
  ['/files', 'this server keeps no files; send the content itself'],
  ['/uploads', 'this server keeps no files; send the content itself'],
  ['/vector_stores', 'this server searches no files; use embeddings and rerank'],
  ['/containers', 'this server runs no code'],
  ['/batches', 'send the requests themselves with priority "background"'],
  ['/fine_tuning', 'this server trains no models'],
  ['/evals', 'this server judges no models'],
  ['/conversations', 'send the items of the conversation as input; their beginning is not evaluated again'],
  ['/assistants', 'use chat completions or responses'],
  ['/threads', 'use chat completions or responses'],
]

/** What can be asked below a path that has other methods, and why this one is not there. */
const REFUSED_BELOW: readonly [
  method: DialectRoute['method'],
  path: string,
  why: (below: string) => string,
][] = [
  ['GET', '/chat/completions/*', () => 'it keeps no chat completions; keep the answer yourself'],
  ['POST', '/chat/completions/*', () => 'it keeps no chat completions; keep the answer yourself'],
  ['DELETE', '/chat/completions/*', () => 'it keeps no chat completions; there is nothing to delete'],
  ['POST', '/responses/*', whyNoResponseAction],
  ['DELETE', '/models/*', () => 'models are removed with `modelyard remove` and DELETE /api/delete'],
]

function whyNoResponseAction(below: string): string {
  if (below.endsWith('/cancel'))
    return 'there are no background responses; a response is ended by closing its connection'
  if (below === 'input_tokens') return 'POST /v1/messages/count_tokens counts the tokens of a prompt'
  if (below === 'compact') return 'send fewer items, or "truncation": "auto"'
  return 'nothing below a response can be changed'
}

function refusing(
  method: DialectRoute['method'],
  path: string,
  why: (below: string) => string,
): DialectRoute {
  return {
    method,
    path,
    // Bodies of these may be forms with files; nothing of them is read.
    body: 'none',
    decode: ({ params }: DialectRequest) => {
      throw notImplemented('path', `This server does not have this route: ${why(params['*'] ?? '')}.`)
    },
  }
}

const METHODS = ['POST', 'GET', 'DELETE'] as const

/** A documented path is a 501 that says why, not a 404 or 405 that looks like a wrong address. */
export const refusedRoutes: readonly DialectRoute[] = [
  ...REFUSED_ROUTES.flatMap(([path, why]) =>
    METHODS.flatMap((method) => [path, `${path}/*`].map((place) => refusing(method, place, () => why))),
  ),
  ...REFUSED_BELOW.map(([method, path, why]) => refusing(method, path, why)),
]
