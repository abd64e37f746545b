import { open, type FileHandle } from 'node:fs/promises'
import type { Clock, Timer } from '../base/clock.ts'
import { ModelyardError } from '../base/errors.ts'
import type { ControlPort } from './control-port.ts'
import type { Exchange } from './exchange.ts'
import { describedQuery } from './described-request.ts'
import { wholeNumber } from './query-fields.ts'

/** Milliseconds between looks at a log that is followed. */
const LOOK_EVERY = 500
/** Most bytes that are looked through for the last lines, and sent at a time. */
const MOST = 256 * 1024

/** `GET /api/yard/logs?instance=…&lines=100&follow=true`: the end of a worker's output as plain text, then what comes. */
export async function sendLog(
  exchange: Exchange,
  query: string,
  control: ControlPort,
  clock: Clock,
): Promise<void> {
  const { instance, lines, follow = 'false' } = describedQuery('GET /api/yard/logs', query)
  const wanted = wholeNumber(lines, 'lines', { min: 0, max: 10_000, fallback: 100 })
  if (instance === undefined || instance === '') throw wrong('instance', 'must name an instance or a model')
  if (follow !== 'true' && follow !== 'false') throw wrong('follow', 'must be true or false')
  const log = control.logOf(instance)
  if ('lines' in log)
    return exchange.send(200, TEXT, joined(log.lines.slice(wanted === 0 ? log.lines.length : -wanted)))
  const file = await open(log.path, 'r')
  try {
    const { text, end } = await lastLines(file, wanted)
    if (follow === 'false') return exchange.send(200, TEXT, text)
    await followLog(exchange, file, clock, text, end)
  } finally {
    await file.close()
  }
}

const TEXT = 'text/plain; charset=utf-8'

function wrong(param: string, words: string): ModelyardError {
  return new ModelyardError('invalid_request', `'${param}' ${words}.`, { details: { param } })
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

async function lastLines(file: FileHandle, count: number): Promise<{ text: string; end: number }> {
  const { size } = await file.stat()
  const text = await readFrom(file, Math.max(0, size - MOST), size)
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return { text: joined(count === 0 ? [] : lines.slice(-count)), end: size }
}

async function readFrom(file: FileHandle, start: number, end: number): Promise<string> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(end - start), position: start })
  return buffer.subarray(0, bytesRead).toString('utf8')
}

/** Looks again and again; polling works on every file system, and a log is small. Ends with its reader. */
async function followLog(
  exchange: Exchange,
  file: FileHandle,
  clock: Clock,
  first: string,
  end: number,
): Promise<void> {
  const { response } = exchange
  exchange.writeHead(200, { 'content-type': TEXT, 'cache-control': 'no-cache' })
  response.write(first)
  response.flushHeaders()
  let position = end
  let timer: Timer | undefined
  await new Promise<void>((resolve) => {
    response.once('close', resolve)
    const look = async (): Promise<void> => {
      const { size } = await file.stat()
      // A reader that is too slow is left behind, not queued for.
      if (size > position && !response.writableNeedDrain) {
        const upTo = Math.min(size, position + MOST)
        response.write(await readFrom(file, position, upTo))
        position = upTo
      }
      timer = clock.setTimer(LOOK_EVERY, () => void look().catch(resolve))
    }
    look().catch(resolve)
  })
  timer?.cancel()
  response.end()
}
