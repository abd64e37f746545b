import type { DialectRoute } from '../dialect.ts'
import { notImplemented } from '../fields.ts'

/** Routes of the API that need what no engine here has, and why not. */
export const REFUSED_ROUTES: readonly [path: string, why: string][] = [
  ['/images/generations', 'no engine here makes images'],
  ['/images/edits', 'no engine here makes images'],
  ['/images/variations', 'no engine here makes images'],
  ['/moderations', 'no model here judges texts; ask a chat model'],
  ['/files', 'this server keeps no files; send the content itself'],
  ['/batches', 'send the requests themselves with priority "background"'],
  ['/assistants', 'use chat completions or responses'],
  ['/threads', 'use chat completions or responses'],
]

/** A documented path is a 501 that says why, not a 404 that looks like a wrong address. */
export const refusedRoutes: readonly DialectRoute[] = REFUSED_ROUTES.map(([path, why]) => ({
  method: 'POST',
  path,
  // Bodies of these are forms with files; nothing of them is read.
  body: 'none',
  decode: () => {
    throw notImplemented('path', `This server does not have this route: ${why}.`)
  },
}))
