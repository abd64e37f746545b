import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ArtifactStore } from '../../src/models/artifact-store.ts'
import { scanModelsFolder } from '../../src/models/discovery/scan-models-folder.ts'
import type { DownloadProgress } from '../../src/models/downloads/progress-meter.ts'
import { ModelInspector } from '../../src/models/inspect-model.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { HubServer, sha256, status } from './hub-server.ts'

const MIB = 1024 * 1024
const SOURCE = 'hf:org/repo'
const INDEX = 'model.safetensors.index.json'
const SHARDS = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'] as const
const CONFIGURATION = {
  model_type: 'qwen2',
  architectures: ['Qwen2ForCausalLM'],
  num_hidden_layers: 1,
  num_attention_heads: 1,
  hidden_size: 64,
  vocab_size: 16,
  quantization: { group_size: 64, bits: 4 },
}
const TEXT = json(CONFIGURATION)
const WEIGHT_MAP = { a: SHARDS[0], b: SHARDS[1] }

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

let folder: string
let hub: HubServer
let shards: [Buffer, Buffer]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hub-folders-'))
  hub = await HubServer.start()
  shards = [randomBytes(4 * MIB), randomBytes(4 * MIB + 1)]
  offer()
})
afterEach(async () => {
  await hub[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** A repository as they are: what is small lies in git and has no sum. */
function offer(repository = 'org/repo', revision = 'main', configuration = TEXT): void {
  hub.add(repository, 'config.json', { content: configuration, sha256: null }, revision)
  hub.add(repository, INDEX, { content: json({ weight_map: WEIGHT_MAP }), sha256: null }, revision)
  hub.add(repository, 'tokenizer.json', { content: json({ version: '1.0' }), sha256: null }, revision)
  for (const [at, name] of SHARDS.entries())
    hub.add(repository, name, shards[at] ?? Buffer.alloc(1), revision)
  for (const name of [
    'pytorch_model.bin',
    'modeling_qwen.py',
    'README.md',
    'logo.png',
    'consolidated.safetensors',
  ])
    hub.add(repository, name, Buffer.from(name), revision)
}

function store(): ArtifactStore {
  return new ArtifactStore({
    folder,
    clock: new SystemClock(),
    transfer: { endpoint: hub.endpoint, firstDelay: 20, stallTimeout: 5000 },
  })
}

const target = (revision = 'main'): string => join(folder, `hf/org/repo/${revision}+safetensors`)

/** Names in the model's folder, without what is noted beside them. */
async function namesIn(path: string): Promise<string[]> {
  return (await readdir(path)).filter((name) => !name.endsWith('.modelyard.json')).sort()
}

const WHOLE = ['config.json', ...SHARDS, INDEX, 'tokenizer.json']

/** What of the weights was asked for. */
function weightRequests(): string[] {
  return hub.fileRequests.flatMap(({ path, range }) =>
    path.endsWith('.safetensors') ? [`${path.split('/').at(-1)} ${range}`] : [],
  )
}

describe('a repository of safetensors (S1)', () => {
  it('becomes a folder with its weights and data, and nothing that would run code or nobody reads', async () => {
    const path = await store().ensure(SOURCE)
    expect(path).toBe(target())
    expect(await namesIn(path)).toEqual(WHOLE)
    for (const [at, name] of SHARDS.entries())
      expect(sha256(await readFile(join(path, name)))).toBe(sha256(shards[at] as Buffer))
    expect(hub.requests.filter(({ path: asked }) => /\.(bin|py|md|png)|consolidated/.test(asked))).toEqual([])
  })

  it('is looked at as one model for mlx, with its quantisation; notes beside the files are none of it', async () => {
    const path = await store().ensure(SOURCE)
    // What random bytes say of their tensors is not looked at: this model has no part that sees.
    const facts = await new ModelInspector().inspect(path)
    const sizes = TEXT.length + json({ weight_map: WEIGHT_MAP }).length + json({ version: '1.0' }).length
    expect(facts).toMatchObject({
      format: 'safetensors',
      purpose: 'generation',
      path,
      fileSize: sizes + shards[0].length + shards[1].length,
      safetensors: { modelType: 'qwen2', quantization: '4 bits in groups of 64' },
    })
  })

  it('is found again without asking, under each source that led to it', async () => {
    const path = await store().ensure('hf:org/repo:safetensors')
    await store().ensure(SOURCE)
    const before = hub.requests.length
    for (const source of [SOURCE, 'hf:org/repo:safetensors', 'hf:org/repo:SafeTensors']) {
      expect(await store().locate(source)).toBe(path)
      expect(await store().ensure(source)).toBe(path)
    }
    expect(hub.requests).toHaveLength(before)
    expect((await scanModelsFolder(folder)).models).toMatchObject([
      { path, sources: ['hf:org/repo:safetensors', SOURCE], name: 'hf/org/repo/main+safetensors' },
    ])
  })

  it('is told with all its bytes, and refused before one of them is asked for', async () => {
    const told: number[] = []
    const admit = (bytes: number): void => {
      told.push(bytes)
      throw new Error('too large')
    }
    await expect(store().ensure(SOURCE, { admit })).rejects.toThrow('too large')
    expect(told[0]).toBeGreaterThan(8 * MIB)
    expect(told[0]).toBeLessThan(8 * MIB + 1000)
    expect(weightRequests()).toEqual([])
    expect(existsSync(target())).toBe(false)
  })

  it('tells what it will be before a byte of it, and is not fetched when nobody can run that', async () => {
    const models = store()
    expect(await models.formatOf(SOURCE)).toBe('safetensors')
    const admitFormat = (format: unknown): void => {
      throw new Error(`no engine for ${String(format)}`)
    }
    await expect(models.ensure(SOURCE, { admitFormat })).rejects.toThrow('no engine for safetensors')
    hub.add('org/gguf', 'm.gguf', await readFile(TINY_CHAT))
    hub.files.set('/m.gguf', { content: Buffer.alloc(1) })
    for (const source of ['hf:org/gguf', `${hub.endpoint}/m.gguf`])
      await expect(models.ensure(source, { admitFormat })).rejects.toThrow('no engine for gguf')
    expect(await models.formatOf('hf:org/gguf')).toBe('gguf')
    expect(hub.fileRequests).toEqual([])
    expect(await readdir(folder)).toEqual([])
    await models.ensure(SOURCE)
    expect(await models.formatOf(SOURCE), 'what is here is looked at, not asked for').toBeUndefined()
  })

  it('gives its GGUF file where it has one, and the folder when it is asked for', async () => {
    hub.add('org/repo', 'm-Q4_K_M.gguf', await readFile(TINY_CHAT))
    const file = await store().ensure(SOURCE)
    expect(file).toBe(join(folder, 'hf/org/repo/main/m-Q4_K_M.gguf'))
    const path = await store().ensure('hf:org/repo:safetensors')
    expect(await namesIn(path)).toEqual(WHOLE)
    expect(await store().locate(SOURCE)).toBe(file)
    expect((await scanModelsFolder(folder)).models.map((model) => model.path)).toEqual([path, file])
  })

  it('is another folder for each revision, fetched from the commit that it names', async () => {
    offer('org/repo', 'v1', json({ ...CONFIGURATION, model_type: 'llama' }))
    const path = await store().ensure('hf:org/repo@v1')
    expect(path).toBe(target('v1'))
    await store().ensure(SOURCE)
    expect(await readFile(join(path, 'config.json'), 'utf8')).toContain('llama')
    expect(await readFile(join(target(), 'config.json'), 'utf8')).toContain('qwen2')
    const commits = hub.requests.flatMap(({ path: asked }) => /\/resolve\/(\w+)\//.exec(asked)?.[1] ?? [])
    expect(new Set(commits).size).toBe(2)
  })

  it('counts all files together', async () => {
    const seen: DownloadProgress[] = []
    await store().ensure(SOURCE, { onProgress: (progress) => seen.push(progress) })
    const totals = new Set(seen.map(({ total }) => total))
    expect(totals.size).toBe(1)
    const [total] = totals
    expect(seen.at(-1)?.received).toBe(total)
    expect(new Set(seen.map(({ file }) => file))).toEqual(new Set([SOURCE.slice(3)]))
    const downloaded = seen.filter(({ stage }) => stage === 'downloading').map(({ received }) => received)
    expect(downloaded).toEqual(downloaded.toSorted((a, b) => a - b))
  })
})

describe('an interrupted fetch of a folder (S2)', () => {
  async function interrupt(): Promise<void> {
    const controller = new AbortController()
    hub.speed = 8 * MIB
    const fetching = store().ensure(SOURCE, {
      signal: controller.signal,
      onProgress: ({ received, stage }) => {
        if (stage === 'downloading' && received > 5 * MIB) controller.abort()
      },
    })
    await expect(fetching).rejects.toMatchObject({ code: 'aborted' })
    hub.speed = 0
    await vi.waitFor(() => expect(existsSync(join(target(), 'folder.modelyard.json.lock'))).toBe(false))
  }

  it('leaves no model, and goes on with the bytes that are missing', async () => {
    await interrupt()
    expect((await scanModelsFolder(folder)).models).toEqual([])
    expect(await store().locate(SOURCE)).toBeUndefined()
    hub.requests.length = 0
    expect(await namesIn(await store().ensure(SOURCE))).toEqual(WHOLE)
    expect(weightRequests()).toEqual([expect.stringMatching(new RegExp(`^${SHARDS[1]} bytes=[1-9]`))])
    expect(sha256(await readFile(join(target(), SHARDS[1])))).toBe(sha256(shards[1]))
  })

  it('has one commit in the end when the branch moves in between: no small file stays from before', async () => {
    await interrupt()
    hub.commits.set('org/repo@main', 'c0ffee0000000000000000000000000000000002')
    // As long as it was, and without a sum.
    const other = json({ ...CONFIGURATION, model_type: 'qwen3' })
    expect(other).toHaveLength(TEXT.length)
    hub.add('org/repo', 'config.json', { content: other, sha256: null })
    await store().ensure(SOURCE)
    expect(await readFile(join(target(), 'config.json'), 'utf8')).toContain('qwen3')
  })

  it('of a branch that moved to fewer files leaves no weights of before', async () => {
    await store().ensure(SOURCE)
    hub.commits.set('org/repo@main', 'c0ffee0000000000000000000000000000000002')
    const files = hub.repositories.get('org/repo@main')
    for (const name of [...SHARDS, INDEX]) files?.delete(name)
    hub.add('org/repo', 'model.safetensors', shards[0])
    // A rest of a fetch goes as well; what somebody calls like one does not.
    const rests = ['model-00003-of-00003.safetensors.part', 'model-00003-of-00003.safetensors.part.json']
    for (const name of [...rests, 'mine', 'mine.part']) await writeFile(join(target(), name), 'x')
    await store().ensure(SOURCE, { refresh: true })
    const kept = ['config.json', 'mine', 'mine.part', 'model.safetensors', 'tokenizer.json']
    expect(await namesIn(target())).toEqual(kept)
    hub.requests.length = 0
    await store().ensure(SOURCE, { refresh: true })
    expect(weightRequests()).toEqual([])
  })
})

describe('a folder that cannot be had', () => {
  /** @returns what it was refused with; nothing of it is there then */
  async function refusal(source = SOURCE): Promise<{ code: string; message: string }> {
    const error = await store()
      .ensure(source)
      .then(
        () => new Error('was fetched'),
        (thrown: unknown) => thrown,
      )
    expect((await scanModelsFolder(folder)).models).toEqual([])
    return error as { code: string; message: string }
  }

  it('has other bytes than promised: the shard is not kept, and what was right is', async () => {
    hub.add('org/repo', SHARDS[1], { content: shards[1], sha256: '0'.repeat(64) })
    expect(await refusal()).toMatchObject({ code: 'checksum_mismatch' })
    expect(await namesIn(target())).toEqual(WHOLE.filter((name) => name !== SHARDS[1]))
    hub.add('org/repo', SHARDS[1], shards[1])
    hub.requests.length = 0
    await store().ensure(SOURCE)
    expect(weightRequests()).toHaveLength(1)
  })

  it('lacks a shard that its index names: told before a byte of the others', async () => {
    hub.repositories.get('org/repo@main')?.delete(SHARDS[0])
    expect(await refusal()).toMatchObject({ code: 'model_not_found' })
    expect(weightRequests()).toEqual([])
  })

  it('has a shard of 0 bytes', async () => {
    hub.add('org/repo', SHARDS[0], Buffer.alloc(0))
    expect((await refusal()).message).toContain(`${SHARDS[0]} that is empty (0 bytes)`)
  })

  it.each(['../evil.safetensors', '/tmp/evil.safetensors', String.raw`model\..\evil.safetensors`])(
    'has an index that leads to %s, and a list of files with it',
    async (name) => {
      hub.add('org/repo', name, shards[0])
      hub.add('org/repo', INDEX, { content: json({ weight_map: { a: name } }), sha256: null })
      expect(await refusal()).toMatchObject({ code: 'model_file_invalid' })
      expect(await readdir(folder)).toEqual([])
    },
  )

  it.each(['not json', '[]', '{}', ''])('has an index that says %j', async (content) => {
    hub.add('org/repo', INDEX, { content: Buffer.from(content), sha256: null })
    expect((await refusal()).message).not.toBe('was fetched')
    expect(weightRequests()).toEqual([])
  })

  it('is gated: what is to be done stands in the refusal', async () => {
    hub.fault = status(403)
    const gated = await refusal()
    expect(gated).toMatchObject({ code: 'download_failed' })
    expect(gated.message).toContain('set a token (HF_TOKEN)')
  })
})

describe('several who want a folder (S3)', () => {
  it('share one fetch, in one store and in two', async () => {
    hub.speed = 32 * MIB
    const shared = store()
    const paths = await Promise.all([
      shared.ensure(SOURCE),
      shared.ensure(SOURCE),
      store().ensure(SOURCE),
      store().ensure('hf:org/repo:safetensors'),
    ])
    expect(new Set(paths)).toEqual(new Set([target()]))
    expect(weightRequests()).toHaveLength(2)
  })
})

describe('a fetched folder', () => {
  it('goes whole, and with it the folders that are empty then', async () => {
    const models = store()
    const path = await models.ensure(SOURCE)
    expect(await models.owns(path)).toBe(true)
    const bytes = await models.sizeOf(path)
    expect(bytes).toBeGreaterThan(8 * MIB)
    expect(await models.remove(path)).toBe(bytes)
    expect(existsSync(join(folder, 'hf'))).toBe(false)
  })

  it('keeps what somebody put beside its files', async () => {
    const models = store()
    const path = await models.ensure(SOURCE)
    await writeFile(join(path, 'notes.txt'), 'mine')
    await models.remove(path)
    expect(await readdir(path)).toEqual(['notes.txt'])
  })

  it('that lost a shard, or its bytes, says so in the list; the next use fetches that one', async () => {
    const path = await store().ensure(SOURCE)
    await rm(join(path, SHARDS[0]))
    expect((await scanModelsFolder(folder)).models).toMatchObject([
      { problem: `its part ${join(path, SHARDS[0])} is missing` },
    ])
    await truncate(join(path, SHARDS[1]), 0)
    await rm(join(path, `${SHARDS[1]}.modelyard.json`))
    hub.requests.length = 0
    expect(await store().ensure(SOURCE)).toBe(path)
    expect(weightRequests()).toHaveLength(2)
    expect((await scanModelsFolder(folder)).models[0]?.problem).toBeUndefined()
  })
})
