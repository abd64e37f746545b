import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../src/engines/engine.ts'
import type { CompletionTask } from '../../src/tasks/completion-task.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'
import { ask, completion, load } from './fixtures.ts'

let folder: string
let path: string
let model: LoadedModel
beforeAll(async () => {
  folder = await temporaryFolder()
  path = makeTinyModel(`${folder}/noise.gguf`).path
  model = await load(path, { slots: 2, context: 512 })
})
afterAll(async () => {
  await model.unload()
  await removeFolder(folder)
})

const story: CompletionTask = completion('the model and the server '.repeat(6), { maxTokens: 12 })
const parked = (): string => `${folder}/parked`

const restore = async (file: string, slot = 1, into: LoadedModel = model): Promise<boolean | undefined> =>
  into.restoreSlot?.(slot, file)

describe('a parked context', () => {
  let fresh: string
  let promptTokens: number
  let saved: { tokens: number; bytes: number } | undefined
  beforeEach(async () => {
    const first = await ask(model, story)
    fresh = first.text
    promptTokens = first.result.usage.promptTokens
    saved = await model.saveSlot?.(0, parked())
  })

  it('tells how many tokens and bytes it has', async () => {
    // The last token of an answer is not evaluated.
    expect(saved).toEqual({ tokens: promptTokens + 11, bytes: (await readFile(parked())).length })
  })

  it('R16: is restored into another slot, with the tokens reused and the same text', async () => {
    expect(await restore(parked())).toBe(true)
    const { text, result } = await ask(model, story, { slot: 1, keptPrefix: 1 })
    expect(text).toBe(fresh)
    expect(result.usage.cachedTokens).toBe(promptTokens - 1)
  })

  it('R16: is restored into another load of the same model', async () => {
    const again = await load(path, { slots: 2, context: 512 })
    expect(await restore(parked(), 0, again)).toBe(true)
    const { text, result } = await ask(again, story, { keptPrefix: 1 })
    expect([text, result.usage.cachedTokens]).toEqual([fresh, promptTokens - 1])
    await again.unload()
  })

  it('F1: never shows in an answer to something else', async () => {
    const other = completion('user '.repeat(10), { maxTokens: 12 })
    const alone = await ask(model, other, { slot: 1 })
    await restore(parked())
    expect((await ask(model, other, { slot: 1, keptPrefix: 1 })).text).toBe(alone.text)
    await restore(parked())
    expect((await ask(model, other, { slot: 1, keptPrefix: 0 })).result.usage.cachedTokens).toBe(0)
  })

  /** Tries to restore over a context; what is found reused afterwards must be nothing. */
  const attempt = async (
    file: string,
    into: LoadedModel = model,
  ): Promise<{ restored?: boolean; reused: number; answered: boolean }> => {
    await ask(into, story, { slot: 1 })
    const restored = await restore(file, 1, into)
    const { text, result } = await ask(into, story, { slot: 1, keptPrefix: 1 })
    return {
      ...(restored !== undefined && { restored }),
      reused: result.usage.cachedTokens,
      answered: text !== '',
    }
  }
  const REFUSED = { restored: false, reused: 0, answered: true }

  it('that is missing, empty, cut, damaged or something else is refused, and the slot is empty then', async () => {
    expect(await attempt(`${folder}/nowhere`)).toEqual(REFUSED)
    const bytes = await readFile(parked())
    const damaged = Buffer.from(bytes)
    damaged[3000] = (damaged[3000] ?? 0) ^ 1
    const wrong = `${folder}/wrong`
    for (const content of [Buffer.alloc(0), Buffer.alloc(5000, 7), bytes.subarray(0, -1), damaged]) {
      await writeFile(wrong, content)
      expect(await attempt(wrong)).toEqual(REFUSED)
    }
  })

  it('BR-51: of other weights is refused, though their shape is the same', async () => {
    const other = makeTinyModel(`${folder}/other.gguf`, { seed: 2 })
    const stranger = await load(other.path, { slots: 2, context: 512 })
    expect(await attempt(parked(), stranger)).toEqual(REFUSED)
    await stranger.unload()
  })

  it('of another number of slots or type of cache is refused', async () => {
    for (const changes of [{ slots: 3 }, { slots: 2, engineOptions: { kvCacheType: 'f32' } }]) {
      const stranger = await load(path, { context: 512, ...changes })
      expect(await attempt(parked(), stranger)).toEqual(REFUSED)
      await stranger.unload()
    }
  })

  it('that is longer than the context is refused', async () => {
    await ask(model, completion('the '.repeat(200), { maxTokens: 100 }))
    await model.saveSlot?.(0, parked())
    const short = await load(path, { slots: 2, context: 256 })
    expect(await attempt(parked(), short)).toEqual(REFUSED)
    await short.unload()
  })

  it('of an empty slot is not made', async () => {
    const empty = await load(path, { slots: 2, context: 512 })
    await expect(empty.saveSlot?.(0, `${folder}/none`)).rejects.toMatchObject({ code: 'invalid_request' })
    await empty.unload()
  })

  it('waits for the prompt of the run on its slot', async () => {
    const running = ask(model, story, { slot: 0, keptPrefix: 0 })
    const late = model.saveSlot?.(0, parked())
    const { result } = await running
    expect((await late)?.tokens).toBeGreaterThanOrEqual(result.usage.promptTokens)
  })

  it('is written between two tokens of an answer, which goes on as if nothing had been, and holds the prompt', async () => {
    const long = { ...story, maxTokens: 150 }
    const alone = await ask(model, long, { slot: 0 })
    let saving: Promise<{ tokens: number; bytes: number }> | undefined
    let text = ''
    for await (const part of model.run(long, {
      slot: 0,
      keptPrefix: 0,
      signal: new AbortController().signal,
    })) {
      if (part.type === 'text') text += part.text
      saving ??= model.saveSlot?.(0, parked())
    }
    expect(text).toBe(alone.text)
    const tokens = (await saving)?.tokens ?? 0
    expect(tokens).toBeGreaterThanOrEqual(promptTokens)
    expect(tokens).toBeLessThan(promptTokens + 149)
    expect(await restore(parked())).toBe(true)
    const again = await ask(model, story, { slot: 1, keptPrefix: 1 })
    expect([again.text, again.result.usage.cachedTokens]).toEqual([fresh, promptTokens - 1])
  })
})
