import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'
import type { DownloadProgress } from '../../src/models/downloads/progress-meter.ts'
import type { TransferOptions } from '../../src/models/downloads/transfer.ts'
import { cutAfter, HubServer, sha256, silence, status } from './hub-server.ts'

const MIB = 1024 * 1024
const FILE = 'model-Q4_K_M.gguf'
const SOURCE = `hf:org/repo/${FILE}`

let model: Buffer
let large: Buffer
beforeAll(async () => {
  model = await readFile(resolve(import.meta.dirname, '../models/tiny-chat/tiny-chat.gguf'))
  large = Buffer.concat([model, randomBytes(5 * MIB + 12_345)])
})

let folder: string
let hub: HubServer
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'downloads-'))
  hub = await HubServer.start()
})
afterEach(async () => {
  await hub[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

function store(transfer: TransferOptions = {}): ArtifactStore {
  return new ArtifactStore({
    folder,
    clock: new SystemClock(),
    transfer: { endpoint: hub.endpoint, firstDelay: 20, stallTimeout: 5000, ...transfer },
  })
}

const target = (): string => join(folder, 'hf/org/repo/main', FILE)

/** Whether a file has this content; comparing large buffers as values takes minutes. */
async function holds(path: string, content: Buffer): Promise<boolean> {
  return content.equals(await readFile(path))
}

/** What lies in a folder beside complete files and their records. */
async function rests(): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  return names.filter(
    (name) => /\.(part|lock|tmp|json|wheel)$/.test(name) && !name.endsWith('.modelyard.json'),
  )
}

/** Starts a slow download and aborts it when some of it is there. */
async function interrupt(source = SOURCE, options: TransferOptions = {}): Promise<void> {
  const controller = new AbortController()
  hub.speed = 8 * MIB
  const fetching = store(options).ensure(source, {
    signal: controller.signal,
    onProgress: ({ received }) => {
      if (received > 2 * MIB) controller.abort()
    },
  })
  await expect(fetching).rejects.toMatchObject({ code: 'aborted' })
  hub.speed = 0
  await vi.waitFor(async () => expect(existsSync(`${target()}.lock`)).toBe(false), 20_000)
}

describe('a file of the hub (S2)', () => {
  it('appears under its name, whole and verified, with a record of where it came from', async () => {
    hub.add('org/repo', FILE, model)
    expect(await store().ensure(SOURCE)).toBe(target())
    expect(await holds(target(), model)).toBe(true)
    const record = JSON.parse(await readFile(`${target()}.modelyard.json`, 'utf8')) as Record<string, unknown>
    expect(record).toMatchObject({ sources: [SOURCE], sha256: sha256(model), size: model.length })
    expect(await rests()).toEqual([])
  })

  it.each([SOURCE, 'address'])(
    'is not fetched when whoever wants it says it is too large: no byte is asked for and nothing stays (%s)',
    async (wanted) => {
      hub.add('org/repo', FILE, model)
      hub.files.set('/big.gguf', { content: model })
      const source = wanted === 'address' ? `${hub.endpoint}/big.gguf` : wanted
      const told: number[] = []
      const admit = (bytes: number): void => {
        told.push(bytes)
        throw new Error('too large')
      }
      await expect(store().ensure(source, { admit })).rejects.toThrow('too large')
      expect(told).toEqual([model.length])
      expect(hub.fileRequests).toEqual([])
      expect(await rests()).toEqual([])
      await store().ensure(source)
    },
  )

  it('is not under its name before it is complete', async () => {
    hub.add('org/repo', FILE, large)
    hub.speed = 16 * MIB
    let seenEarly = false
    await store().ensure(SOURCE, {
      onProgress: ({ stage }) => (seenEarly ||= stage === 'downloading' && existsSync(target())),
    })
    expect(seenEarly).toBe(false)
    expect(existsSync(target())).toBe(true)
  })

  it('is taken from disk the second time, without a request', async () => {
    hub.add('org/repo', FILE, model)
    await store().ensure(SOURCE)
    const before = hub.requests.length
    expect(await store().ensure(SOURCE)).toBe(target())
    expect(hub.requests.length).toBe(before)
  })

  it('goes on where an aborted download stopped', async () => {
    hub.add('org/repo', FILE, large)
    await interrupt()
    const received = (
      JSON.parse(await readFile(`${target()}.part.json`, 'utf8')) as { ranges: [{ done: number }] }
    ).ranges[0].done
    expect(received).toBeGreaterThan(MIB)
    hub.requests.length = 0
    await store().ensure(SOURCE)
    expect(await holds(target(), large)).toBe(true)
    expect(hub.fileRequests.map(({ range }) => range)).toEqual([`bytes=${received}-${large.length - 1}`])
    expect(hub.fileRequests[0]?.ifRange).toBe(`"${sha256(large)}"`)
  })

  it('goes on within one download when the connection is cut, each time', async () => {
    hub.add('org/repo', FILE, large)
    hub.faults.push(cutAfter(MIB), cutAfter(MIB), cutAfter(MIB), cutAfter(MIB), cutAfter(100))
    await store({ attempts: 3 }).ensure(SOURCE)
    expect(await holds(target(), large)).toBe(true)
    expect(hub.fileRequests).toHaveLength(6)
  })

  it('gives up when nothing comes any more, keeps what came and goes on later', async () => {
    hub.add('org/repo', FILE, large)
    hub.faults.push(cutAfter(2 * MIB), ...Array.from({ length: 3 }, () => cutAfter(0)))
    await expect(store({ attempts: 3 }).ensure(SOURCE)).rejects.toMatchObject({ code: 'download_failed' })
    expect(existsSync(target())).toBe(false)
    hub.requests.length = 0
    await store().ensure(SOURCE)
    expect(Number(/\d+/.exec(hub.fileRequests[0]?.range ?? '')?.[0])).toBeGreaterThan(MIB)
    expect(await holds(target(), large)).toBe(true)
  })

  it('ends a connection that stalls and goes on', async () => {
    hub.add('org/repo', FILE, large)
    hub.faults.push((request, response, content) => {
      response.writeHead(206, {
        etag: `"${sha256(content)}"`,
        'content-length': content.length,
        'content-range': `bytes 0-${content.length - 1}/${content.length}`,
      })
      response.write(content.subarray(0, MIB))
      return true
    })
    await store({ stallTimeout: 1000 }).ensure(SOURCE)
    expect(await holds(target(), large)).toBe(true)
    expect(hub.fileRequests.at(-1)?.range).toMatch(/^bytes=1048576-/)
  })

  it('begins anew when the file changed on the server since', async () => {
    hub.add('org/repo', FILE, { content: large, sha256: null })
    await interrupt()
    const other = Buffer.concat([model, Buffer.alloc(large.length - model.length)])
    hub.add('org/repo', FILE, { content: other, sha256: null })
    await store().ensure(SOURCE)
    expect(await holds(target(), other)).toBe(true)
  })

  it('begins anew when the file changes in the middle, also with a server that ignores If-Range', async () => {
    const content = Buffer.concat([model, Buffer.alloc(4 * MIB, 7)])
    const other = Buffer.concat([model, Buffer.alloc(4 * MIB, 8)])
    const file = hub.add('org/repo', FILE, { content, sha256: null })
    hub.faults.push((...call) => {
      file.content = other
      return cutAfter(MIB)(...call)
    }, cutAfter(MIB))
    await store().ensure(SOURCE)
    expect(await holds(target(), other)).toBe(true)
  })

  it('comes in parts, side by side, when it is large, and resumes each of them', async () => {
    hub.add('org/repo', FILE, large)
    await interrupt(SOURCE, { parts: 3, parallelFrom: MIB })
    expect(hub.mostSending).toBe(3)
    hub.requests.length = 0
    await store({ parts: 3, parallelFrom: MIB }).ensure(SOURCE)
    expect(await holds(target(), large)).toBe(true)
    const starts = hub.fileRequests.map(({ range }) => Number(/\d+/.exec(range ?? '')?.[0]))
    const third = Math.ceil(large.length / 3)
    expect(starts.every((start) => start % third !== 0)).toBe(true)
  })

  it('comes whole from a server without ranges, from the beginning after a cut', async () => {
    hub.add('org/repo', FILE, { content: large, ranges: false })
    hub.faults.push((_, response, content) => {
      response.writeHead(200, { 'content-length': content.length })
      response.write(content.subarray(0, MIB), () => response.socket?.resetAndDestroy())
      return true
    })
    await store({ parts: 3, parallelFrom: MIB }).ensure(SOURCE)
    expect(await holds(target(), large)).toBe(true)
  })

  it('of unknown size comes whole, without what a longer try left behind', async () => {
    hub.files.set('/m.gguf', { content: model })
    let tries = 0
    hub.fault = (request, response, content) => {
      response.writeHead(200)
      if (request.headers.range === 'bytes=0-0') response.end('x')
      else if (tries++ === 0) {
        response.write(Buffer.concat([content, Buffer.alloc(MIB, 9)]), () => response.socket?.destroySoon())
      } else response.end(content)
      return true
    }
    const path = await store().ensure(`${hub.endpoint}/m.gguf`)
    expect(tries).toBe(2)
    expect(await holds(path, model)).toBe(true)
  })

  it('tells how far it is, how fast and how long still', async () => {
    hub.add('org/repo', FILE, large)
    hub.speed = 4 * MIB
    const seen: DownloadProgress[] = []
    const begun = performance.now()
    await store().ensure(SOURCE, { onProgress: (progress) => seen.push(progress) })
    const quarters = (performance.now() - begun) / 250
    const middle = seen.filter(({ stage, bytesPerSecond }) => stage === 'downloading' && bytesPerSecond > 0)
    expect(middle.length).toBeGreaterThan(1)
    // Four a second, however long a busy machine takes; it comes in a hundred pieces.
    expect(middle.length).toBeLessThan(quarters + 3)
    for (const { received, total, bytesPerSecond, timeLeft, file } of middle) {
      expect([file, total]).toEqual([FILE, large.length])
      expect(timeLeft).toBeCloseTo(((large.length - received) / bytesPerSecond) * 1000, 3)
    }
    expect(seen.at(-1)).toMatchObject({ stage: 'verifying', received: large.length })
  })
})

describe('a server that lies', () => {
  it('about the sum: nothing is kept', async () => {
    hub.add('org/repo', FILE, { content: model, sha256: '0'.repeat(64) })
    await expect(store().ensure(SOURCE)).rejects.toMatchObject({ code: 'checksum_mismatch' })
    expect(existsSync(target())).toBe(false)
    expect(await rests()).toEqual([])
  })

  it('about the size', async () => {
    hub.add('org/repo', FILE, large)
    hub.fault = (request, response, content) => {
      response
        .writeHead(206, { 'content-range': `bytes 0-0/${content.length - 5}`, 'content-length': 1 })
        .end('x')
      return true
    }
    await expect(store().ensure(SOURCE)).rejects.toThrow(
      `has ${large.length - 5} bytes; ${large.length} were promised`,
    )
  })

  it('about a range: the bytes of another one are not written', async () => {
    hub.add('org/repo', FILE, large)
    hub.faults.push((_, response, content) => {
      response
        .writeHead(206, {
          'content-range': `bytes 5-${content.length - 1}/${content.length}`,
          'content-length': content.length - 5,
        })
        .end(content.subarray(5))
      return true
    })
    await expect(store().ensure(SOURCE)).rejects.toThrow('sent other bytes than were asked for')
  })

  it('by sending more than the file has', async () => {
    hub.files.set('/m.bin', { content: large })
    hub.faults.push((_, response, content) => {
      response.writeHead(206, { 'content-range': `bytes 0-${content.length - 1}/${content.length}` })
      response.end(Buffer.concat([content, content]))
      return true
    })
    await expect(store().ensure(`${hub.endpoint}/m.bin`)).rejects.toThrow('sent more bytes than the file has')
  })

  it('by calling a login page a model', async () => {
    hub.files.set('/m.gguf', { content: Buffer.from('<html><body>Log in</body></html>') })
    await expect(store().ensure(`${hub.endpoint}/m.gguf`)).rejects.toThrow('looks like HTML')
    expect(await rests()).toEqual([])
  })

  it('by serving an empty file', async () => {
    hub.files.set('/m.gguf', { content: Buffer.alloc(0) })
    await expect(store().ensure(`${hub.endpoint}/m.gguf`)).rejects.toThrow('is empty (0 bytes)')
  })

  it('by changing the file without end: an error instead of a loop', async () => {
    hub.files.set('/m.gguf', { content: large })
    let version = 0
    hub.fault = (request, response, content) => {
      response
        .writeHead(206, {
          etag: `"${version++}"`,
          'content-range': `bytes 0-0/${content.length}`,
          'content-length': 1,
        })
        .end('x')
      return true
    }
    await expect(store().ensure(`${hub.endpoint}/m.gguf`)).rejects.toThrow(
      'another one now; begun anew 3 times',
    )
  })
})

describe('refusals', () => {
  it.each([
    [401, 'set a token'],
    [403, 'set a token'],
  ])('%d from the hub tells of tokens and is not tried again', async (code, sentence) => {
    hub.add('org/repo', FILE, model)
    hub.apiFault = status(code)
    await expect(store().ensure(SOURCE)).rejects.toThrow(sentence)
    expect(hub.requests).toHaveLength(1)
  })

  it('404 for a repository, a file, a quantisation', async () => {
    hub.add('org/repo', FILE, model)
    await expect(store().ensure('hf:org/none/x.gguf')).rejects.toThrow('there is no such file or repository')
    await expect(store().ensure('hf:org/repo/model-Q4_K.gguf')).rejects.toThrow(`Near it: ${FILE}`)
    await expect(store().ensure('hf:org/repo:Q8_0')).rejects.toThrow(`There is: ${FILE}`)
  })

  it('429 is tried again after the time the server asks for', async () => {
    hub.add('org/repo', FILE, model)
    hub.faults.push(status(429, { 'retry-after': '1' }))
    const begun = performance.now()
    await store().ensure(SOURCE)
    expect(performance.now() - begun).toBeGreaterThan(990)
  })

  it('429 with a very long time is told instead of waited for', async () => {
    hub.add('org/repo', FILE, model)
    hub.apiFault = status(429, { 'retry-after': '3600' })
    await expect(store().ensure(SOURCE)).rejects.toMatchObject({
      code: 'download_failed',
      retryAfter: 3_600_000,
    })
  })

  it('a failing server is tried again and may recover', async () => {
    hub.add('org/repo', FILE, model)
    hub.faults.push(status(503), status(500))
    await store().ensure(SOURCE)
    expect(await holds(target(), model)).toBe(true)
  })
})

describe('tokens and other hosts (S2)', () => {
  it('sends the token to the hub and to nobody else', async () => {
    hub.add('org/repo', FILE, model)
    hub.redirect = true
    await store({ token: 'hf_secret' }).ensure(SOURCE)
    expect(await holds(target(), model)).toBe(true)
    const byStatus = hub.requests.map(({ status: code, authorization }) => [
      code === 302 || code === 200,
      authorization,
    ])
    expect(byStatus).toContainEqual([true, 'Bearer hf_secret'])
    expect(
      hub.requests.filter(({ status: code }) => code === 206).map(({ authorization }) => authorization),
    ).toEqual([undefined, undefined])
  })

  it('sends no token to an address of another host', async () => {
    hub.files.set('/m.gguf', { content: model })
    await store({ token: 'hf_secret' }).ensure(`${hub.storeEndpoint}/m.gguf`)
    expect(hub.requests.every(({ authorization }) => authorization === undefined)).toBe(true)
  })

  it('takes the sum that the hub names when it redirects', async () => {
    hub.add('org/repo', FILE, { content: model, sha256: null })
    hub.files.set('/m.gguf', { content: model, sha256: '1'.repeat(64) })
    hub.redirect = true
    await expect(store().ensure(`${hub.endpoint}/m.gguf`)).rejects.toMatchObject({
      code: 'checksum_mismatch',
    })
  })

  it.each(['http://hub.example/m.gguf', 'file:///etc/passwd'])(
    'follows no redirect to %s',
    async (location) => {
      hub.files.set('/m.gguf', { content: model })
      hub.fault = status(302, { location })
      await expect(store().ensure(`${hub.endpoint}/m.gguf`)).rejects.toThrow('redirected to')
    },
  )

  it('ends a circle of redirects', async () => {
    hub.files.set('/m.gguf', { content: model })
    hub.fault = status(302, { location: '/m.gguf' })
    await expect(store().ensure(`${hub.endpoint}/m.gguf`)).rejects.toThrow('redirected more than 5 times')
  })

  it('keeps signatures in addresses out of errors and records', async () => {
    hub.files.set('/m.gguf', { content: model })
    const path = await store().ensure(`${hub.endpoint}/m.gguf?signature=secret`)
    expect(JSON.parse(await readFile(`${path}.modelyard.json`, 'utf8'))).toMatchObject({
      url: `${hub.endpoint}/m.gguf`,
    })
    hub.fault = status(403)
    await expect(store().ensure(`${hub.endpoint}/m.gguf?signature=other`)).rejects.toThrow(/^(?!.*other)/)
  })
})

describe('what is there already (F28)', () => {
  beforeEach(async () => {
    hub.add('org/repo', FILE, model)
    await store().ensure(SOURCE)
    hub.requests.length = 0
  })

  it('a corrupt file of the same size is found by its sum and repaired', async () => {
    const { atime, mtime } = await stat(target())
    const corrupt = Buffer.from(model)
    corrupt[corrupt.length - 1] = (corrupt.at(-1) ?? 0) ^ 0xff
    await writeFile(target(), corrupt)
    await utimes(target(), atime, mtime)
    await store().ensure(SOURCE, { verify: true })
    expect(await holds(target(), model)).toBe(true)
  })

  it('a file that was touched is looked at again without being asked to, and repaired', async () => {
    await writeFile(target(), Buffer.alloc(model.length, 1))
    await store().ensure(SOURCE)
    expect(await holds(target(), model)).toBe(true)
  })

  it('a list does not read files that were touched: looking for a model is quick', async () => {
    await writeFile(target(), Buffer.alloc(model.length, 1))
    expect(await store().locate(SOURCE)).toBe(target())
    await writeFile(target(), Buffer.alloc(model.length - 1, 1))
    expect(await store().locate(SOURCE)).toBeUndefined()
  })

  it('a file that only has another date is kept', async () => {
    await utimes(target(), 1000, 1000)
    await store().ensure(SOURCE)
    await store().ensure(SOURCE, { verify: true })
    expect(hub.requests).toEqual([])
  })

  it('an empty placeholder is no model', async () => {
    await writeFile(target(), '')
    expect(await store().locate(SOURCE)).toBeUndefined()
    await store().ensure(SOURCE)
    expect(await holds(target(), model)).toBe(true)
  })

  it('a newer file is fetched when asked for, replacing the old one in one step (BR-26)', async () => {
    const newer = Buffer.concat([model, Buffer.alloc(32)])
    hub.add('org/repo', FILE, newer)
    await store().ensure(SOURCE)
    expect(await holds(target(), model)).toBe(true)
    await store().ensure(SOURCE, { refresh: true })
    expect(await holds(target(), newer)).toBe(true)
  })

  it('two revisions lie in two folders', async () => {
    const other = Buffer.concat([model, Buffer.alloc(64)])
    hub.add('org/repo', FILE, other, 'refs/pr/1')
    hub.add('org/repo', FILE, other, 'refs_pr_1')
    const path = await store().ensure(`${SOURCE}@refs/pr/1`)
    const third = await store().ensure(`${SOURCE}@refs_pr_1`)
    expect(new Set([path, third, target()]).size).toBe(3)
    expect(await holds(path, other)).toBe(true)
    expect(await holds(target(), model)).toBe(true)
  })

  it('is removed with its record, and says how much that frees (S6)', async () => {
    expect(await store().sizeOf(target())).toBe(model.length)
    expect(await store().remove(target())).toBe(model.length)
    expect(existsSync(join(target(), '..'))).toBe(false)
  })
})

describe('which file (S1)', () => {
  it('is found by its quantisation, whatever the case, and without the hub the second time', async () => {
    hub.add('org/repo', 'model-Q4_K_M.gguf', model)
    hub.add('org/repo', 'model-Q4_K_S.gguf', Buffer.from('other'))
    expect(await store().ensure('hf:org/repo:q4_k_m')).toBe(target())
    hub.apiFault = status(500)
    expect(await store({ attempts: 1 }).ensure('hf:org/repo:Q4_K_M')).toBe(target())
    await expect(store({ attempts: 1 }).ensure('hf:org/repo:Q4_K_S')).rejects.toMatchObject({
      code: 'download_failed',
    })
  })

  it('is one file for two ways to name it: no second download', async () => {
    hub.add('org/repo', 'model-Q4_K_M.gguf', model)
    await store().ensure(SOURCE)
    hub.requests.length = 0
    expect(await store().ensure('hf:org/repo')).toBe(target())
    expect(hub.fileRequests).toEqual([])
  })

  it('may be split: all shards come, the first last (S4)', async () => {
    const shards = [1, 2, 3].map((number) => `big-Q8_0-0000${number}-of-00003.gguf`)
    for (const name of shards) hub.add('org/repo', `Q8_0/${name}`, Buffer.concat([model, Buffer.from(name)]))
    const path = await store().ensure('hf:org/repo:Q8_0')
    expect(path).toBe(join(folder, 'hf/org/repo/main/Q8_0', shards[0] ?? ''))
    expect(hub.fileRequests.map((request) => request.path.split('/').at(-1))).toEqual([
      shards[1],
      shards[2],
      shards[0],
    ])
    hub.requests.length = 0
    expect(await store().ensure('hf:org/repo:Q8_0')).toBe(path)
    expect(hub.requests).toEqual([])
    await rm(path.replace('00001-of', '00002-of'))
    expect(await store().locate('hf:org/repo:Q8_0')).toBeUndefined()
    await store().ensure('hf:org/repo:Q8_0')
    expect(hub.fileRequests).toHaveLength(1)
    expect(await store().remove(path)).toBe(3 * (model.length + (shards[0]?.length ?? 0)))
    expect(existsSync(join(path, '..'))).toBe(false)
  })

  it('files of one name from two addresses do not collide', async () => {
    hub.files.set('/a/m.gguf', { content: model })
    hub.files.set('/b/m.gguf', { content: Buffer.concat([model, Buffer.alloc(32)]) })
    const [a, b] = await Promise.all(
      ['a', 'b'].map(async (name) => store().ensure(`${hub.endpoint}/${name}/m.gguf`)),
    )
    expect(a).not.toBe(b)
  })

  it('names with spaces, umlauts and CJK come as they are (BR-24)', async () => {
    hub.add('org/repo', 'mo dels/モデル é.gguf', model)
    const path = await store().ensure('hf:org/repo/mo dels/モデル é.gguf')
    expect(path).toBe(join(folder, 'hf/org/repo/main/mo dels/モデル é.gguf'))
    expect(await holds(path, model)).toBe(true)
  })
})

describe('a host that does not answer', () => {
  it('is given up within the connect timeout, saying so', async () => {
    const begun = performance.now()
    const unreachable = store({ endpoint: 'http://127.0.0.1:1', attempts: 2 })
    await expect(unreachable.ensure(SOURCE)).rejects.toMatchObject({
      code: 'download_failed',
      details: { unreachable: true },
    })
    expect(performance.now() - begun).toBeLessThan(10_000)
  })

  it('is given up for the next place of the catalog after three seconds', async () => {
    hub.apiFault = silence
    hub.files.set('/m.gguf', { content: model })
    const catalog = {
      tiny: {
        description: '',
        sources: [{ source: SOURCE }, { source: `${hub.endpoint}/m.gguf`, sha256: sha256(model) }],
        spec: {},
      },
    } as const
    const patient = new ArtifactStore({
      folder,
      clock: new SystemClock(),
      transfer: { endpoint: hub.endpoint },
      catalog,
    })
    const begun = performance.now()
    const path = await patient.ensure('tiny')
    expect(performance.now() - begun).toBeGreaterThan(2900)
    expect(performance.now() - begun).toBeLessThan(15_000)
    expect(await holds(path, model)).toBe(true)
    hub.requests.length = 0
    expect(await patient.ensure('tiny')).toBe(path)
    expect(hub.requests).toEqual([])
  })

  it('all places failing are all told of', async () => {
    const catalog = {
      tiny: {
        description: '',
        sources: [{ source: SOURCE }, { source: `${hub.endpoint}/none.gguf` }],
        spec: {},
      },
    } as const
    const failing = new ArtifactStore({
      folder,
      clock: new SystemClock(),
      transfer: { endpoint: hub.endpoint },
      catalog,
    })
    await expect(failing.ensure('tiny')).rejects.toThrow(
      /"tiny" could not be fetched from any of its 2 places: .*org\/repo.* · .*none\.gguf/,
    )
  })
})
