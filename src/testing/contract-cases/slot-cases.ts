import assert from 'node:assert/strict'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChatTask } from '../../tasks/chat-task.ts'
import { SLOTS } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'
import type { KnownChat } from '../contract-subject.ts'

/** The next turn of a conversation: what was asked, what was answered, and another question. */
function nextTurn({ task, answer }: KnownChat, next: KnownChat): ChatTask {
  const messages = [...task.messages, { role: 'assistant' as const, content: answer }, ...next.task.messages]
  return { ...task, messages }
}

export const slotCases: readonly ContractCheck[] = [
  {
    name: 'clears the slot where no prefix is kept (F1)',
    unless: 'keepsPrefixes',
    async check(bench) {
      const model = await bench.shared()
      for (const index of [0, 1, 0]) {
        const { task, answer } = bench.chat(index)
        const { text, result } = await bench.run(model, task, { keptPrefix: 0 })
        assert.equal(text, answer)
        assert.equal(result.usage.cachedTokens, 0)
      }
    },
  },
  {
    name: 'uses a kept prefix again, never all of a prompt, and answers as it would without',
    unless: 'keepsPrefixes',
    async check(bench) {
      const model = await bench.shared()
      const turn = nextTurn(bench.chat(0), bench.chat(1))
      const { text: cold } = await bench.run(model, { ...turn, maxTokens: 20 }, { slot: 1 })
      await bench.run(model, bench.chat(0).task)
      const { text, result } = await bench.run(model, { ...turn, maxTokens: 20 }, { keptPrefix: 1 })
      assert(result.usage.cachedTokens > 0, 'nothing was used again')
      assert(result.usage.cachedTokens < result.usage.promptTokens)
      assert.equal(text, cold)
      const again = await bench.run(model, { ...turn, maxTokens: 20 }, { keptPrefix: 1 })
      assert(again.result.usage.cachedTokens < again.result.usage.promptTokens)
      assert.equal(again.text, cold)
    },
  },
  {
    name: 'keeps exactly the tokens that agree, whatever it was promised (R3)',
    async check(bench) {
      const model = await bench.shared()
      await bench.run(model, bench.chat(0).task)
      for (const index of [1, 2, 0]) {
        const { task, answer } = bench.chat(index)
        const { text, result } = await bench.run(model, task, { keptPrefix: 99 })
        assert.equal(text, answer)
        assert(result.usage.cachedTokens < result.usage.promptTokens)
      }
    },
  },
  {
    name: 'runs on all slots at once, each with its own right answer',
    async check(bench) {
      const model = await bench.shared()
      const slots = Array.from({ length: SLOTS }, (_, slot) => slot)
      const chatOf = (slot: number): KnownChat => bench.chat(slot % 3)
      const answers = await Promise.all(slots.map((slot) => bench.run(model, chatOf(slot).task, { slot })))
      assert.deepEqual(
        answers.map(({ text }) => text),
        slots.map((slot) => chatOf(slot).answer),
      )
    },
  },
  {
    name: 'writes a slot to a file and reads it back into another slot, and no foreign file',
    unless: 'parks',
    async check(bench) {
      const model = await bench.shared()
      assert(
        model.saveSlot !== undefined && model.restoreSlot !== undefined,
        'it parks nothing: list this as a gap',
      )
      const folder = await mkdtemp(join(tmpdir(), 'contract-'))
      try {
        const file = join(folder, 'slot')
        await bench.run(model, bench.chat(0).task)
        const saved = await model.saveSlot(0, file)
        assert(saved.tokens > 0 && saved.bytes > 0)
        await saved.sealed
        assert.equal((await stat(file)).size, saved.bytes, 'it says another size than the file has')
        const isWhole = await model.checkSlotFile?.(file)
        assert.notEqual(isWhole, false, 'it takes its own file for damaged')
        await bench.run(model, bench.chat(2).task, { slot: 1 })
        assert.equal(await model.restoreSlot(1, file, isWhole), true)
        const turn = { ...nextTurn(bench.chat(0), bench.chat(1)), maxTokens: 20 }
        const { text, result } = await bench.run(model, turn, { slot: 1, keptPrefix: 1 })
        assert(result.usage.cachedTokens > 0, 'nothing was used again')
        assert.equal(text, (await bench.run(model, turn)).text)
        await writeFile(file, 'junk')
        assert.equal(await model.restoreSlot(1, file), false)
        assert.notEqual(await model.checkSlotFile?.(file), true, 'it takes junk for its own file')
        assert.equal(await model.restoreSlot(1, join(folder, 'missing')), false)
        await bench.assertUsable(model, 1)
      } finally {
        await rm(folder, { recursive: true })
      }
    },
  },
]
