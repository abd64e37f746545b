import assert from 'node:assert/strict'
import type { ChatTask, OutputFormat } from '../../tasks/chat-task.ts'
import { failure, type ContractBench, type WholeRun } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'

const CLOSED: OutputFormat = {
  type: 'json-schema',
  name: 'answer',
  strict: true,
  schema: {
    type: 'object',
    properties: { good: { type: 'boolean' }, size: { type: 'integer', minimum: 10, maximum: 99 } },
    required: ['good', 'size'],
    additionalProperties: false,
  },
}
const MOST_TOKENS = 120

/** Whether the engine says it can; the cases are about engines that do. */
async function asked(
  bench: ContractBench,
  format: OutputFormat,
  changes: Partial<ChatTask> = {},
): Promise<WholeRun | undefined> {
  const { capabilities } = await bench.plan()
  if (format.type === 'grammar' ? !capabilities.grammar : !capabilities.structuredOutput) return undefined
  const { task } = bench.chat(0)
  const held: ChatTask = { ...task, maxTokens: MOST_TOKENS, ...changes, format }
  return bench.run(await bench.shared(), held)
}

export const formatCases: readonly ContractCheck[] = [
  {
    name: 'holds answers to a JSON Schema where it says it can, greedy and by chance',
    needs: 'holdsFormats',
    async check(bench) {
      for (const sampling of [{ temperature: 0 }, { temperature: 1.5, seed: 7 }]) {
        const run = await asked(bench, CLOSED, { sampling })
        assert(run !== undefined, 'capabilities.structuredOutput is false: leave holdsFormats out')
        const { good, size, ...others } = JSON.parse(run.text) as Record<string, unknown>
        assert.equal(typeof good, 'boolean', run.text)
        assert(Number.isInteger(size) && (size as number) >= 10 && (size as number) <= 99, run.text)
        assert.deepEqual(others, {})
        assert.equal(run.result.finishReason, 'stop')
      }
    },
  },
  {
    name: 'ends with the grammar, and the slot is as usable as before',
    needs: 'holdsFormats',
    async check(bench) {
      const run = await asked(bench, { type: 'grammar', grammar: 'root ::= "yes" | "no"' })
      assert(run !== undefined, 'capabilities.grammar is false: leave holdsFormats out')
      assert(run.text === 'yes' || run.text === 'no', run.text)
      assert.equal(run.result.finishReason, 'stop')
      await bench.assertUsable(await bench.shared())
    },
  },
  {
    name: 'holds several slots at once, each to its own grammar',
    needs: 'holdsFormats',
    async check(bench) {
      const model = await bench.shared()
      const { task } = bench.chat(0)
      const answers = await Promise.all(
        ['aaa', 'bbb', 'ccc', 'ddd'].map((text, slot) =>
          bench.run(model, { ...task, format: { type: 'grammar', grammar: `root ::= "${text}"` } }, { slot }),
        ),
      )
      assert.deepEqual(
        answers.map(({ text }) => text),
        ['aaa', 'bbb', 'ccc', 'ddd'],
      )
    },
  },
  {
    name: 'refuses a format that cannot be held before the first part',
    needs: 'holdsFormats',
    async check(bench) {
      const { task } = bench.chat(0)
      const format: OutputFormat = { type: 'grammar', grammar: 'root ::= root "a"' }
      await failure(bench.start(await bench.shared(), { ...task, format }).next(), 'invalid_request')
      await bench.assertUsable(await bench.shared())
    },
  },
]
