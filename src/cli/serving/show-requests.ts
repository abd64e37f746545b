import type { AccessRecord } from '../../server/server-options.ts'
import type { Yard } from '../../yard.ts'
import type { CommandContext } from '../command-context.ts'

/** A line per request on standard error, where the configuration asks for it (`server.log`). @returns a function that ends it */
export function showRequests({ err, clock }: CommandContext, yard: Yard): () => void {
  return yard.watchRequests((record) => void err.line(requestLine(record, clock.wallTime())))
}

/** `2026-03-01T12:00:00.000Z req_4f… POST /v1/chat/completions 200 1234 ms`, with the code of an error at the end. */
export function requestLine(
  { id, method, path, status, milliseconds, error }: AccessRecord,
  now: number,
): string {
  const time = new Date(now).toISOString()
  const line = `${time} ${id} ${method} ${visible(path)} ${status} ${Math.round(milliseconds)} ms`
  return error === undefined ? line : `${line} ${error.code}`
}

/** A path may hold anything; on a terminal it must not do anything. */
function visible(path: string): string {
  return path.replaceAll(/[^\x21-\x7E]/gu, (character) => encodeURIComponent(character)).slice(0, 300)
}
