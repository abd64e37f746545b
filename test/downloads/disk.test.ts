import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import { HubServer } from './hub-server.ts'

const MIB = 1024 * 1024
const SOURCE = 'hf:org/repo/m.gguf'

/** A small file system of its own needs root and permission to mount; containers often have neither. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const mountable = process.platform === 'linux' && canMount()
if (!mountable)
  console.log(
    'Disk tests are skipped: a tmpfs cannot be mounted here (it takes root and the right to mount).',
  )

describe.skipIf(!mountable)('a disk that is full or read-only (BR-25)', () => {
  let content: Buffer
  beforeAll(async () => {
    const tiny = await readFile(resolve(import.meta.dirname, '../models/tiny-chat/tiny-chat.gguf'))
    content = Buffer.concat([tiny, randomBytes(4 * MIB - tiny.length)])
  })

  let folder: string
  let hub: HubServer
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'disk-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder])
    hub = await HubServer.start()
    hub.add('org/repo', 'm.gguf', content)
  })
  afterEach(async () => {
    await hub[Symbol.asyncDispose]()
    execFileSync('umount', [folder])
    await rm(folder, { recursive: true, force: true })
  })

  const target = (): string => join(folder, 'hf/org/repo/main/m.gguf')
  const ballast = (): string => join(folder, 'ballast')

  function store(): ArtifactStore {
    return new ArtifactStore({
      folder,
      clock: new SystemClock(),
      transfer: { endpoint: hub.endpoint, firstDelay: 20 },
    })
  }

  it('is seen before anything is fetched when the size is known: path, need and free; after freeing it works', async () => {
    await writeFile(ballast(), Buffer.alloc(4 * MIB))
    const { message, details } = await refusal(store().ensure(SOURCE))
    expect(message).toMatch(/Not enough space in .*: 4 MiB are needed, .* are free/)
    expect(details).toMatchObject({ path: join(folder, 'hf/org/repo/main'), need: content.length })
    expect(Number(details['free'])).toBeLessThan(2.1 * MIB)
    expect(hub.fileRequests).toEqual([])
    await rm(ballast())
    await store().ensure(SOURCE)
    expect(content.equals(await readFile(target()))).toBe(true)
  })

  it('is seen before the first of several shards is fetched', async () => {
    for (const name of ['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf'])
      hub.add('org/split', name, content)
    const { details } = await refusal(store().ensure('hf:org/split'))
    expect(details['need']).toBe(2 * content.length)
    expect(hub.fileRequests).toEqual([])
  })

  it('is seen before the first of several files of a folder is fetched, by all of them together', async () => {
    const weights = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
    hub.add('org/folder', 'config.json', { content: Buffer.from('{}'), sha256: null })
    for (const name of weights) hub.add('org/folder', name, content)
    const { message, details } = await refusal(store().ensure('hf:org/folder'))
    expect(message).toMatch(/8 MiB are needed/)
    expect(details['need']).toBe(2 * content.length + 2)
    expect(hub.fileRequests.filter(({ path }) => path.endsWith('.safetensors'))).toEqual([])
  })

  it('that fills up on the way keeps what came; the next try goes on from there without a restart', async () => {
    hub.speed = 4 * MIB
    const models = store()
    let filled: Promise<void> | undefined
    const fetching = models.ensure(SOURCE, {
      onProgress: ({ received }) => {
        if (received > MIB) filled ??= fill()
      },
    })
    const { details } = await refusal(fetching)
    expect(filled).toBeDefined()
    expect(Number(details['need'])).toBeGreaterThan(0)
    expect(existsSync(target())).toBe(false)
    await rm(ballast())
    hub.requests.length = 0
    hub.speed = 0
    await models.ensure(SOURCE)
    expect(Number(/\d+/.exec(hub.fileRequests.at(-1)?.range ?? '')?.[0])).toBeGreaterThan(MIB / 2)
    expect(content.equals(await readFile(target()))).toBe(true)
  })

  it('that fills up under a file of unknown size', async () => {
    hub.files.set('/m.bin', { content })
    hub.fault = (_, response) => {
      response.writeHead(200)
      response.end(Buffer.alloc(8 * MIB, 1))
      return true
    }
    const { details } = await refusal(store().ensure(`${hub.endpoint}/m.bin`))
    expect(details['path']).toContain('/url/')
  })

  it('that is read-only serves what is there, and says why it cannot fetch', async () => {
    await store().ensure(SOURCE)
    execFileSync('mount', ['-o', 'remount,ro', folder])
    const path = await store().ensure(SOURCE, { verify: true })
    expect((await new ModelInspector().inspect(path)).gguf?.architecture).toBe('qwen2')
    hub.add('org/repo', 'n.gguf', content)
    await expect(store().ensure('hf:org/repo/n.gguf')).rejects.toMatchObject({
      code: 'download_failed',
      message: expect.stringContaining('cannot be written to (EROFS)') as string,
    })
  })

  /** Takes all space that is left. */
  async function fill(): Promise<void> {
    const file = await open(ballast(), 'w')
    try {
      for (;;) await file.write(Buffer.alloc(64 * 1024))
    } catch {
      // Full, as wished.
    } finally {
      await file.close()
    }
    expect((await stat(ballast())).size).toBeGreaterThan(0)
  }
})

async function refusal(
  work: Promise<unknown>,
): Promise<{ message: string; details: Record<string, unknown> }> {
  const error = await work.then(
    () => new Error('did not fail'),
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'disk_full' })
  return error as { message: string; details: Record<string, unknown> }
}
