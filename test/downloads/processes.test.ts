import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'
import type { DownloadProgress } from '../../src/models/downloads/progress-meter.ts'
import { HubServer } from './hub-server.ts'

const MIB = 1024 * 1024
const SOURCE = 'hf:org/repo/m.gguf'

let content: Buffer
beforeAll(async () => {
  const tiny = await readFile(resolve(import.meta.dirname, '../models/tiny-chat/tiny-chat.gguf'))
  content = Buffer.concat([tiny, randomBytes(6 * MIB)])
})

let folder: string
let hub: HubServer
const started: ChildProcess[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'processes-'))
  hub = await HubServer.start()
  hub.add('org/repo', 'm.gguf', content)
})
afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
  await hub[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const target = (): string => join(folder, 'hf/org/repo/main/m.gguf')

/** Another process that fetches the model; its reports as they come. */
function fetcher(): { child: ChildProcess; lines: Record<string, unknown>[]; ended: Promise<void> } {
  const program = join(import.meta.dirname, 'fetch-program.ts')
  const args = ['--import', 'jiti/register', program, folder, hub.endpoint, SOURCE]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  const lines: Record<string, unknown>[] = []
  let rest = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.map((line) => JSON.parse(line) as Record<string, unknown>))
  })
  return { child, lines, ended: new Promise((done) => child.once('close', () => done())) }
}

function ownStore(): ArtifactStore {
  return new ArtifactStore({
    folder,
    clock: new SystemClock(),
    transfer: { endpoint: hub.endpoint, firstDelay: 20 },
  })
}

async function whenDownloading({ lines }: { lines: Record<string, unknown>[] }): Promise<void> {
  await vi.waitFor(() => expect(lines.some(({ received }) => Number(received) > 0)).toBe(true), 60_000)
}

async function rests(): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  return names.filter(
    (name) => /\.(part|lock|tmp|json|sock|takeover)$/.test(name) && !name.endsWith('.modelyard.json'),
  )
}

describe('several processes that want one file (S3)', () => {
  it('fetch it once; the second waits and shows how far the first is', async () => {
    hub.speed = 3 * MIB
    const first = fetcher()
    await whenDownloading(first)
    const seen: DownloadProgress[] = []
    expect(await ownStore().ensure(SOURCE, { onProgress: (progress) => seen.push(progress) })).toBe(target())
    await first.ended
    expect(first.lines.at(-1)).toEqual({ path: target() })
    expect(hub.fileRequests).toHaveLength(1)
    const waiting = seen.filter(({ stage }) => stage === 'waiting')
    expect(waiting.every(({ heldBy }) => heldBy === first.child.pid)).toBe(true)
    expect(waiting.some(({ received, total }) => received > 0 && total === content.length)).toBe(true)
    expect(content.equals(await readFile(target()))).toBe(true)
    expect(await rests()).toEqual([])
  })

  it('get it at the same time exactly once, however many', async () => {
    hub.speed = 20 * MIB
    const all = [fetcher(), fetcher(), fetcher(), fetcher()]
    await Promise.all(all.map(({ ended }) => ended))
    expect(all.map(({ lines }) => lines.at(-1))).toEqual(all.map(() => ({ path: target() })))
    expect(hub.fileRequests).toHaveLength(1)
    expect(await rests()).toEqual([])
  })

  it('take over from one that was killed, at once, and go on where it stopped', async () => {
    hub.speed = 3 * MIB
    const first = fetcher()
    await whenDownloading(first)
    // The state is noted once a second.
    await vi.waitFor(async () => {
      const state = JSON.parse(await readFile(`${target()}.part.json`, 'utf8')) as {
        ranges: { done: number }[]
      }
      expect(state.ranges[0]?.done).toBeGreaterThan(0)
    }, 30_000)
    first.child.kill('SIGKILL')
    await first.ended
    expect(existsSync(`${target()}.lock`)).toBe(true)
    hub.requests.length = 0
    hub.speed = 0
    const begun = performance.now()
    await ownStore().ensure(SOURCE)
    // A lock that ended by its age would take far longer.
    expect(performance.now() - begun).toBeLessThan(10_000)
    // The killed one's own request, from the beginning, is noted as late as ours.
    expect(hub.fileRequests.filter(({ range }) => range?.startsWith('bytes=0-') === false)).toHaveLength(1)
    expect(content.equals(await readFile(target()))).toBe(true)
    expect(await rests()).toEqual([])
  })

  it('take over from one whose pid another program has now', async () => {
    await mkdir(dirname(target()), { recursive: true })
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim() || null
    const lock = {
      pid: process.pid,
      startTime: '1',
      nonce: 'x',
      boot,
      pidNamespace: await ownNamespace(),
      socket: null,
    }
    await writeFile(`${target()}.lock`, JSON.stringify(lock))
    await ownStore().ensure(SOURCE)
    expect(content.equals(await readFile(target()))).toBe(true)
  })

  it('wait for one in another container as long as its socket answers, and take over when it does not', async () => {
    await mkdir(dirname(target()), { recursive: true })
    const lock = {
      pid: 1,
      startTime: '1',
      nonce: 'x',
      boot: await bootId(),
      pidNamespace: 'pid:[1]',
      socket: '.fetching.00ff.sock',
    }
    await writeFile(`${target()}.lock`, JSON.stringify(lock))
    const container = createServer((socket) => socket.destroy())
    await new Promise<void>((done) => container.listen(join(folder, '.fetching.00ff.sock'), done))
    let waited = 0
    const fetching = ownStore().ensure(SOURCE, {
      onProgress: ({ stage }) => (waited += stage === 'waiting' ? 1 : 0),
    })
    await vi.waitFor(() => expect(waited).toBeGreaterThan(1), 10_000)
    expect(hub.fileRequests).toEqual([])
    await new Promise((done) => container.close(done))
    await fetching
    expect(content.equals(await readFile(target()))).toBe(true)
  })

  it('go away from the wait for the lock without a trace (F28)', async () => {
    hub.speed = 2 * MIB
    const first = fetcher()
    await whenDownloading(first)
    const controller = new AbortController()
    const waiting = ownStore().ensure(SOURCE, {
      signal: controller.signal,
      onProgress: ({ stage }) => {
        if (stage === 'waiting') controller.abort()
      },
    })
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
    expect(existsSync(`${target()}.lock`)).toBe(true)
    await first.ended
    expect(first.lines.at(-1)).toEqual({ path: target() })
    expect(await rests()).toEqual([])
  })

  it('end by SIGTERM with a part that can be resumed and no lock', async () => {
    hub.speed = 2 * MIB
    const first = fetcher()
    await whenDownloading(first)
    first.child.kill('SIGTERM')
    await first.ended
    expect(first.lines.at(-1)).toEqual({ code: 'aborted' })
    expect((await rests()).map((name) => name.split('/').at(-1) ?? '').toSorted()).toEqual([
      'm.gguf.part',
      'm.gguf.part.json',
    ])
  })
})

describe('several callers in one process', () => {
  it('share one fetch; one that leaves does not end it for the others', async () => {
    hub.speed = 4 * MIB
    const store = ownStore()
    const controller = new AbortController()
    const reports = { leaving: 0, staying: 0 }
    const leaving = store.ensure(SOURCE, { signal: controller.signal, onProgress: () => reports.leaving++ })
    const staying = store.ensure(SOURCE, { onProgress: () => reports.staying++ })
    await vi.waitFor(() => expect(Math.min(reports.leaving, reports.staying)).toBeGreaterThan(1), 10_000)
    controller.abort()
    await expect(leaving).rejects.toMatchObject({ code: 'aborted' })
    expect(await staying).toBe(target())
    expect(hub.fileRequests).toHaveLength(1)
  })

  it('end the fetch when the last of them has left, and a later one goes on', async () => {
    hub.speed = 2 * MIB
    const store = ownStore()
    const controllers = [new AbortController(), new AbortController()]
    const all = controllers.map(async ({ signal }) => store.ensure(SOURCE, { signal }))
    const outcomes = Promise.allSettled(all)
    await vi.waitFor(() => expect(existsSync(`${target()}.part.json`)).toBe(true), 10_000)
    for (const controller of controllers) controller.abort()
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await vi.waitFor(() => expect(existsSync(`${target()}.lock`)).toBe(false), 20_000)
    expect(existsSync(target())).toBe(false)
    hub.speed = 0
    expect(await store.ensure(SOURCE)).toBe(target())
    expect(content.equals(await readFile(target()))).toBe(true)
  })
})

async function bootId(): Promise<string | null> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim() || null
}

async function ownNamespace(): Promise<string | null> {
  return readlink('/proc/self/ns/pid').catch(() => null)
}
