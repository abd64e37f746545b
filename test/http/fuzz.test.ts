import { Pool } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/dialects/dialect.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { mutate, pick, random, type Json } from './mutate.ts'
import { SOUND, VALID_BODIES, VALID_FORM } from './valid-bodies.ts'

const REQUESTS = Number(process.env['MODELYARD_FUZZ_REQUESTS'] ?? 20_000)
const SEED = Number(process.env['MODELYARD_FUZZ_SEED'] ?? Date.now() % 1_000_000_000)
const CLIENTS = 32
/** Nothing here takes a second on a quiet machine. */
const DEADLINE = 30_000

interface Target {
  shape: string
  method: string
  path: string
  body?: Json
  /** It is sent as a form, with a sound. */
  isForm?: true
}

function dialectTarget([dialect, path, body]: [Dialect, string, Json]): Target {
  return { shape: dialect.name, method: 'POST', path: (dialect.prefixes[0] ?? '') + path, body }
}

/** What `valid-bodies.ts` does not have: the control API, and what has no body or another method. */
const MORE: Target[] = [
  { shape: 'control', method: 'POST', path: '/api/yard/load', body: { model: 'm', keep_alive: '5m' } },
  { shape: 'control', method: 'POST', path: '/api/yard/unload', body: { model: 'm' } },
  { shape: 'control', method: 'GET', path: '/api/yard/plan/m' },
  { shape: 'control', method: 'GET', path: '/api/yard/state' },
  { shape: 'control', method: 'POST', path: '/api/yard/classify', body: { model: 'm', input: ['a', 'b'], labels: ['x', 'y'], hypothesis: 'It is {}.', multiple: true, top: 1, priority: 'normal' } },
  { shape: 'control', method: 'POST', path: '/api/yard/detect', body: { model: 'm', image: 'data:image/png;base64,iVBORw0KGgo=', threshold: 0.5 } },
  { shape: 'control', method: 'POST', path: '/api/yard/caption', body: { model: 'm', image: 'data:image/png;base64,iVBORw0KGgo=', max_tokens: 5 } },
  { shape: 'openai', method: 'POST', path: '/v1/audio/transcriptions', body: VALID_FORM, isForm: true },
  { shape: 'openai', method: 'GET', path: '/v1/models/m' },
  { shape: 'ollama', method: 'GET', path: '/api/ps' },
  { shape: 'ollama', method: 'GET', path: '/api/tags' },
  { shape: 'ollama', method: 'DELETE', path: '/api/delete', body: { model: 'n' } },
  { shape: 'ollama', method: 'POST', path: '/api/push', body: { model: 'm', stream: true } },
  { shape: 'ollama', method: 'HEAD', path: '/api/blobs/sha256:00' },
] // prettier-ignore
const TARGETS = [...VALID_BODIES.map(dialectTarget), ...MORE]

const HEADERS: Record<string, string>[] = [
  { 'modelyard-priority': 'urgent' },
  { 'modelyard-keep-alive': 'abc' },
  { 'modelyard-session': 'x' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-encoding': 'gzip' },
  { 'anthropic-version': '2023-06-01' },
  { origin: 'https://evil.example' },
  { authorization: 'Bearer x' },
]

/** The text of a body with a few bytes changed, cut or doubled: not always JSON any more. */
function garble(text: string, next: () => number): string {
  const at = Math.floor(next() * text.length)
  const kind = next()
  if (kind < 0.3) return text.slice(0, at)
  if (kind < 0.6) return text.slice(0, at) + pick(['\0', '\uFFFF', '"', '}', '[', '1e999', ','], next) + text.slice(at + 1)
  return text.slice(0, at) + text.slice(Math.max(0, at - 20))
} // prettier-ignore

interface Attempt extends Target {
  headers: Record<string, string>
  text: string | undefined
}

function attempt(next: () => number): Attempt {
  const target = pick(TARGETS, next)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(next() < 0.1 ? pick(HEADERS, next) : {}),
  }
  if (target.body === undefined) {
    // On a path that two languages have, this header says which one is meant.
    const shape =
      headers['anthropic-version'] !== undefined && target.path.startsWith('/v1') ? 'anthropic' : target.shape
    const tail = next() < 0.5 ? '' : encodeURIComponent(pick(['x', '../m', '%', 'ä', 'y'.repeat(700)], next))
    return { ...target, shape, path: target.path + tail, headers, text: undefined }
  }
  const body = next() < 0.05 ? target.body : mutate(target.body, next)
  if (target.isForm === true && headers['content-type'] === 'application/json')
    headers['content-type'] = `multipart/form-data; boundary=${BOUNDARY}`
  const text = target.isForm === true ? formText(body) : JSON.stringify(body)
  return { ...target, headers, text: next() < 0.1 ? garble(text, next) : text }
}

const BOUNDARY = 'modelyard'

function formText(fields: Json): string {
  const texts = Object.entries(fields ?? {}).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`
  })
  const head = 'content-disposition: form-data; name="file"; filename="x.wav"'
  const file = `--${BOUNDARY}\r\n${head}\r\n\r\n${Buffer.from(SOUND).toString('latin1')}\r\n`
  return `${texts.join('')}${file}--${BOUNDARY}--\r\n`
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** The fields each language's errors must have. */
const SHAPES: Record<string, (body: never) => boolean> = {
  openai: ({ error }: { error: Record<string, unknown> }) =>
    isText(error['message']) && isText(error['type']) && isText(error['code']) && 'param' in error,
  anthropic: (body: { type: string; error: Record<string, unknown>; request_id: string }) =>
    body.type === 'error' && isText(body.error['type']) && isText(body.error['message']) && isText(body.request_id),
  ollama: ({ error }: { error: unknown }) => isText(error),
  control: ({ error }: { error: Record<string, unknown> }) => isText(error['code']) && isText(error['message']),
} // prettier-ignore

interface Answer {
  status: number
  headers: Record<string, unknown>
  text: string
}

/** What is wrong with an answer; undefined when nothing is. */
function faultOf({ shape, method }: Attempt, { status, headers, text }: Answer): string | undefined {
  const waits = status === 503 || status === 529 || status === 429
  if (status >= 500 && !waits && status !== 501 && status !== 507) return `status ${status}`
  if (waits && headers['retry-after'] === undefined) return `${status} without Retry-After`
  if (status < 400 || method === 'HEAD') return undefined
  try {
    return SHAPES[shape]?.(JSON.parse(text) as never) === true ? undefined : `no error of ${shape}`
  } catch {
    return `no error of ${shape}`
  }
}

describe(`${REQUESTS} requests that are nearly right, seed ${SEED}`, () => {
  let home: string
  let yard: Yard
  let pool: Pool
  const rejections: unknown[] = []
  const note = (reason: unknown): void => void rejections.push(reason)
  beforeAll(async () => {
    home = await temporaryFolder()
    process.on('unhandledRejection', note)
    const scripted = { engine: 'scripted', isolation: 'none', slots: 8 } as const
    yard = await createYard({ home, models: { m: { ...scripted, script: [{ text: 'one two' }] } } })
    const { url } = await yard.listen({ host: '127.0.0.1', port: 0 })
    pool = new Pool(url, { connections: CLIENTS, headersTimeout: DEADLINE, bodyTimeout: DEADLINE })
  })
  afterAll(async () => {
    await pool.close()
    await yard.stop()
    process.off('unhandledRejection', note)
    await removeFolder(home)
  })

  async function send({ method, path, headers, text }: Attempt): Promise<Answer> {
    const {
      statusCode,
      headers: answered,
      body,
    } = await pool.request({
      method,
      path,
      headers,
      body: text ?? null,
      signal: AbortSignal.timeout(2 * DEADLINE),
    })
    return { status: statusCode, headers: answered, text: await body.text() }
  }

  it('get no 5xx but 501, 507 and 503 with Retry-After, no hang, and errors in the language’s own shape', async () => {
    const next = random(SEED)
    const faults: string[] = []
    const statuses = new Map<number, number>()
    let left = REQUESTS
    const client = async (): Promise<void> => {
      while (left-- > 0 && faults.length < 8) {
        const one = attempt(next)
        const answer = await send(one)
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        const fault = faultOf(one, answer)
        if (fault !== undefined) {
          faults.push(`${fault}: ${one.method} ${one.path} ${JSON.stringify(one.headers)} ${one.text} => ${answer.text}`)
        }
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    expect(faults).toEqual([])
    expect(rejections).toEqual([])
    // Both kinds must be there, or the mutations test nothing.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(REQUESTS / 50)
    expect(statuses.get(400) ?? 0).toBeGreaterThan(REQUESTS / 10)
    console.log(`seed ${SEED}:`, Object.fromEntries([...statuses].sort(([a], [b]) => a - b)))
  }, 600_000) // prettier-ignore

  it('leave nothing behind: no run, and the next request is answered', async () => {
    await expect.poll(() => yard.state().runs.active).toBe(0)
    const messages = [{ role: 'user', content: 'Hi' }]
    const { text } = await send({
      shape: 'openai',
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
      text: JSON.stringify({ model: 'm', messages }),
    })
    expect(JSON.parse(text)).toMatchObject({ choices: [{ message: { content: 'one two' } }] })
  })
})
