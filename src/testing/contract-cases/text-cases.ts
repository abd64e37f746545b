import assert from 'node:assert/strict'
import type { ChatTask } from '../../tasks/chat-task.ts'
import { readAll, type ContractBench } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'
import { assertInTime } from '../soonest.ts'

const SMALL_CONTEXT = 256
/** Milliseconds in which an engine that works must say that it is alive. */
const PING_LIMIT = 2000

/** A context so small that an answer soon fills it; what is short in it is not. */
async function withSmallContext(bench: ContractBench, task: ChatTask): Promise<void> {
  const model = await bench.load(await bench.plan({ slots: 1, contextSize: SMALL_CONTEXT }))
  try {
    const { usage, finishReason } = (await bench.run(model, task)).result
    assert.equal(finishReason, 'length')
    assert(usage.promptTokens + usage.completionTokens <= model.plan.contextSize, JSON.stringify(usage))
    assert(usage.completionTokens > 0)
    await bench.assertUsable(model)
  } finally {
    await model.unload()
  }
}

/** Texts that end an answer, and what is left of it. */
function stopsOf(answer: string): [stop: string[], left: string][] {
  const [early, late] = [answer.slice(2, 5), answer.slice(6, 9)]
  return [
    [[answer.slice(0, 4)], ''],
    [[late, early], answer.slice(0, Math.min(answer.indexOf(early), answer.indexOf(late)))],
    [[answer.slice(-2), 'x'.repeat(1000)], answer.slice(0, answer.indexOf(answer.slice(-2)))],
    [['x'.repeat(1000)], answer],
  ]
}

const ODD_TEXTS = [
  '',
  ' ',
  '\n\n',
  '😀 你好 é',
  '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}',
  'a\u0000b\u0007',
  '\uD83D half',
  '"}\\n</s>',
]

export const textCases: readonly ContractCheck[] = [
  {
    name: 'ends at the end of its context with length, never beyond it',
    unless: 'tokenizes',
    check: async (bench) => withSmallContext(bench, bench.subject.endless),
  },
  {
    name: 'leaves out a stop string wherever in the answer it is, and the earliest of several wins (BR-41)',
    async check(bench) {
      const { task, answer } = bench.chat(0)
      for (const [stop, left] of stopsOf(answer)) {
        const { text } = await bench.run(await bench.shared(), { ...task, stop })
        assert.equal(text, left, `with ${JSON.stringify(stop).slice(0, 60)}`)
      }
    },
  },
  {
    name: 'says nothing of an answer that its stop string ends before it begins, and counts it',
    async check(bench) {
      const { task, answer } = bench.chat(0)
      const { parts, result } = await bench.run(await bench.shared(), { ...task, stop: [answer.slice(0, 1)] })
      assert.equal(parts[0]?.type, 'started')
      assert(parts.every((part) => part.type !== 'text' || part.text === ''))
      assert(result.usage.completionTokens <= answer.length)
    },
  },
  {
    name: 'reads texts of any script, empty ones and halves of characters, and goes on',
    async check(bench) {
      const model = await bench.shared()
      const { task } = bench.chat(0)
      for (const content of ODD_TEXTS) {
        const { result } = await bench.run(model, {
          ...task,
          messages: [{ role: 'user', content }],
          maxTokens: 1,
        })
        assert(result.usage.completionTokens <= 1, JSON.stringify(content))
      }
      await bench.assertUsable(model)
    },
  },
  {
    name: 'answers on after thirty short runs, on every slot',
    async check(bench) {
      const model = await bench.shared()
      for (let round = 0; round < 30; round++)
        await bench.run(model, { ...bench.chat(round % 3).task, maxTokens: 1 }, { slot: round % 4 })
      for (const slot of [0, 1, 2, 3]) await bench.assertUsable(model, slot)
    },
  },
  {
    name: 'is held up by a reader that stops reading in that answer alone',
    async check(bench) {
      const model = await bench.shared()
      await assertInTime(async () => {
        const controller = new AbortController()
        const stream = bench.start(model, bench.subject.endless, { signal: controller.signal })
        await stream.next()
        const { task, answer } = bench.chat(1)
        assert.equal((await bench.run(model, task, { slot: 1 })).text, answer)
        await bench.pause(300)
        controller.abort()
        const begun = bench.clock.now()
        await assert.rejects(readAll(stream))
        const took = bench.clock.now() - begun
        await bench.assertUsable(model)
        return took
      })
    },
  },
  {
    name: 'says while it generates that it is alive, what it holds, and that it moves (R12)',
    async check(bench) {
      const model = await bench.shared()
      const stream = bench.start(model, bench.subject.endless)
      await stream.next()
      await assertInTime(async () => {
        const begun = bench.clock.now()
        await model.ping()
        return bench.clock.now() - begun
      }, PING_LIMIT)
      const { ram } = await model.memory()
      assert(ram !== undefined && ram.private + ram.shared > 0)
      const before = model.lastProgress ?? -Infinity
      for (let part = 0; part < 5; part++) await stream.next()
      assert((model.lastProgress ?? -Infinity) >= before && model.lastProgress !== undefined)
      await stream.return(undefined as never)
      await bench.assertUsable(model)
    },
  },
  {
    name: 'counts tokens while it generates, and not for somebody who has left',
    unless: 'tokenizes',
    async check(bench) {
      const model = await bench.shared()
      const { task } = bench.chat(1)
      const alone = await model.countTokens(task)
      const stream = bench.start(model, bench.subject.endless)
      await stream.next()
      assert.equal(await model.countTokens(task), alone)
      await stream.return(undefined as never)
      await bench.assertUsable(model)
    },
  },
]
