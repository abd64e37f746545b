import { copyFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { factsOf, HOST, NEVER, specOf } from '../node-llama-cpp/fixtures.ts'
import { removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { HAS_SERVER, loadServer, processesWith, serverEngine } from './fixtures.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))

const refused = (failure: string): object => ({
  code: 'model_load_failed',
  message: expect.stringMatching(/saying: .*\S/) as string,
  details: { failure, exitCode: 1 },
})

/** Its last words differ between releases; that there are some, and what they are taken for, must not. */
describe.skipIf(!HAS_SERVER)('a real llama-server that cannot load', () => {
  it('a file that was cut after it was looked at says so', async () => {
    const path = join(folder, 'cut.gguf')
    await copyFile(TINY_CHAT, path)
    const engine = serverEngine()
    const plan = engine.plan(specOf({ id: 'cut' }), await factsOf(path), HOST)
    await truncate(path, 700_000)
    const loading = engine.load(plan, { signal: NEVER, onProgress: () => undefined })
    await expect(loading).rejects.toMatchObject(refused('bad_file'))
    expect(processesWith('--alias cut')).toEqual([])
  })

  it.each([
    ['an adapter', 'bad_option', (path: string) => ({ lora: [{ path }] })],
    ['a draft model', 'bad_file', (path: string) => ({ draft: { path } })],
  ])('%s that is none says so', async (_, failure, options) => {
    const path = join(folder, 'none.gguf')
    await writeFile(path, 'none of them')
    const engineOptions = options(path)
    await expect(loadServer(TINY_CHAT, { id: 'none', engineOptions })).rejects.toMatchObject(refused(failure))
    expect(processesWith('--alias none')).toEqual([])
  })
})
