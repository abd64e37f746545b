import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { LlamaServerEngine } from '../../src/engines/llama-server/llama-server-engine.ts'
import { makeTinyLora, makeTinyModel } from '../models/make-tiny-gguf.ts'
import { ENGINES_DIRECTORY, removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { ask, chat, completion } from '../node-llama-cpp/fixtures.ts'
import { HAS_SERVER, loadServer, processesWith } from './fixtures.ts'

let folder: string
const loaded: LoadedModel[] = []
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))
afterEach(async () => {
  await Promise.all(loaded.splice(0).map((model) => model.unload()))
})

async function load(path: string, engineOptions: Record<string, unknown>): Promise<LoadedModel> {
  const engine = new LlamaServerEngine({
    enginesDirectory: ENGINES_DIRECTORY,
    logDirectory: folder,
    clock: new SystemClock(),
  })
  const model = await loadServer(path, { id: 'companions', engineOptions, context: 512 }, engine)
  loaded.push(model)
  return model
}

describe.skipIf(!HAS_SERVER)('E8: files beside the model, in the real llama-server', () => {
  it('an adapter changes the answer as far as its scale says, and what its contexts belong to', async () => {
    const base = join(folder, 'base.gguf')
    const path = join(folder, 'lora.gguf')
    makeTinyModel(base)
    makeTinyLora(path, { scale: 1 })
    const task = completion('abc', { maxTokens: 8 })
    const plain = await load(base, {})
    const off = await load(base, { lora: [{ path, scale: 0 }] })
    const on = await load(base, { lora: [{ path }] })
    const answer = (await ask(plain, task)).text
    expect((await ask(off, task)).text).toBe(answer)
    expect((await ask(on, task)).text).not.toBe(answer)
    expect(on.stateIdentity).not.toBe(plain.stateIdentity)
  })

  it('a draft model guesses ahead and changes no word', async () => {
    const task = chat('Count.', { sampling: { temperature: 0 } })
    const plain = await load(TINY_CHAT, {})
    const guessing = await load(TINY_CHAT, { draft: { path: TINY_CHAT, tokens: 4 } })
    expect(processesWith(`-md ${TINY_CHAT}`)).toHaveLength(1)
    expect((await ask(guessing, task)).text).toBe((await ask(plain, task)).text)
    const { usage } = (await ask(guessing, task)).result
    expect(usage).toEqual({ ...(await ask(plain, task)).result.usage, cachedTokens: usage.cachedTokens })
    await guessing.unload()
    // One that is loaded and never asked takes memory for nothing, and shows in no answer.
    const log = await readFile(guessing.logPath ?? '', 'utf8')
    expect(log).toMatch(/draft acceptance[^(]*\( *[1-9]\d* accepted/)
  })

  it('an adapter that is none fails the load, with what to do', async () => {
    await expect(load(TINY_CHAT, { lora: [{ path: TINY_CHAT }] })).rejects.toMatchObject({
      code: 'model_load_failed',
    })
  })
})
