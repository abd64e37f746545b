import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ContextFolder } from '../../src/contexts/context-folder.ts'
import type { LoadedModel } from '../../src/engines/engine.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { ask, completion, load } from '../node-llama-cpp/fixtures.ts'
import { HAS_LLAMA } from '../yard/harness.ts'

const story = completion('the model and the server '.repeat(6), { maxTokens: 12 })

/** A context of real weights on disk, and everything that can become of its two files. */
describe.runIf(HAS_LLAMA)(
  'files of parked contexts that were damaged, cut, exchanged or are old (R16)',
  () => {
    let home: string
    let model: LoadedModel
    let fresh: string
    /** The two files as they were written, and the engine's file of another model and of another conversation. */
    let slot: Buffer
    let record: Buffer
    let foreign: Buffer
    let older: Buffer
    const path = (name = ''): string => join(home, 'contexts', name)

    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), 'damaged-'))
      model = await load(makeTinyModel(join(home, 'a.gguf')).path, { slots: 2, context: 512 })
      const other = await load(makeTinyModel(join(home, 'b.gguf'), { seed: 2 }).path, {
        slots: 2,
        context: 512,
      })
      const folder = new ContextFolder(path(), new SystemClock())
      await folder.open()
      const first = await ask(model, story)
      fresh = first.text
      const order = {
        context: 'context-1',
        model: 'a',
        slot: 0,
        identity: model.stateIdentity ?? '',
        chain: [{ hash: 'h', end: 100 }],
        tokens: first.result.usage.promptTokens + 11,
        worth: 100,
      }
      await folder.park(order, async (file) => model.saveSlot?.(0, file))
      await folder.close()
      slot = await readFile(path('context-1.slot'))
      record = await readFile(path('context-1.json'))
      await ask(other, story)
      await other.saveSlot?.(0, join(home, 'foreign'))
      foreign = await readFile(join(home, 'foreign'))
      await ask(model, completion('user', { maxTokens: 2 }), { slot: 1 })
      await model.saveSlot?.(1, join(home, 'older'))
      older = await readFile(join(home, 'older'))
      await other.unload()
    })
    afterAll(async () => {
      await model.unload()
      await rm(home, { recursive: true })
    })

    const flipped = (bytes: Buffer, place: number, bit = 1): Buffer => {
      const damaged = Buffer.from(bytes)
      const index = Math.min(damaged.length - 1, Math.floor(place * damaged.length))
      damaged[index] = (damaged[index] ?? 0) ^ bit
      return damaged
    }
    const PLACES = [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999, 1]
    const LENGTHS = [0, 1, 100, 0.25, 0.5, 0.75, 0.99]
    const cut = (bytes: Buffer, length: number): Buffer =>
      bytes.subarray(0, length >= 1 || length === 0 ? length : Math.floor(length * bytes.length))

    type Files = [slot: Buffer | undefined, record: Buffer | undefined]
    const mutations = (): [what: string, files: Files][] => [
      ...PLACES.map((place): [string, Files] => [`slot flipped at ${place}`, [flipped(slot, place), record]]),
      ...PLACES.map((place): [string, Files] => [
        `record flipped at ${place}`,
        [slot, flipped(record, place, 2)],
      ]),
      ...LENGTHS.map((length): [string, Files] => [`slot cut to ${length}`, [cut(slot, length), record]]),
      ...LENGTHS.map((length): [string, Files] => [`record cut to ${length}`, [slot, cut(record, length)]]),
      ['slot longer', [Buffer.concat([slot, Buffer.alloc(1)]), record]],
      ['slot twice', [Buffer.concat([slot, slot]), record]],
      ['slot of zeros', [Buffer.alloc(slot.length), record]],
      ['slot of another model', [foreign, record]],
      ['slot of an earlier time', [older, record]],
      ['slot is the record', [record, record]],
      ['record is the slot', [slot, slot]],
      ['slot is missing', [undefined, record]],
      ['record is missing', [slot, undefined]],
    ]

    it('are never read and never end anything: at least 40 of them', { timeout: 120_000 }, async () => {
      const all = mutations()
      expect(all.length).toBeGreaterThanOrEqual(40)
      for (const [what, [slotBytes, recordBytes]] of all) {
        await rm(path('context-1.slot'), { force: true })
        await rm(path('context-1.json'), { force: true })
        if (slotBytes !== undefined) await writeFile(path('context-1.slot'), slotBytes)
        if (recordBytes !== undefined) await writeFile(path('context-1.json'), recordBytes)
        const { contexts } = await new ContextFolder(path(), new SystemClock()).open()
        await ask(model, completion('user', { maxTokens: 1 }), { slot: 1 })
        const read = contexts.length > 0 && (await model.restoreSlot?.(1, path('context-1.slot'))) === true
        expect([what, read]).toEqual([what, false])
        const { text, result } = await ask(model, story, { slot: 1, keptPrefix: contexts.length })
        expect([what, text]).toEqual([what, fresh])
        expect(result.usage.cachedTokens).toBeLessThanOrEqual(1)
      }
    })

    it('and the undamaged ones are read, so that the test cannot be green on nothing', async () => {
      await writeFile(path('context-1.slot'), slot)
      await writeFile(path('context-1.json'), record)
      await copyFile(path('context-1.slot'), join(home, 'copy'))
      expect((await new ContextFolder(path(), new SystemClock()).open()).contexts).toHaveLength(1)
      expect(await model.restoreSlot?.(1, path('context-1.slot'))).toBe(true)
    })
  },
)
