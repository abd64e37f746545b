import assert from 'node:assert/strict'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { TokenLogprob } from '../../tasks/part.ts'
import { failure, type WholeRun } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'

/** No model of today has so many tokens. */
const FOREIGN_TOKEN = 99_999_999

function completion(prompt: string | number[], changes: Partial<CompletionTask> = {}): CompletionTask {
  return { kind: 'completion', prompt, sampling: { temperature: 0 }, stop: [], maxTokens: 3, ...changes }
}

function logprobsOf({ parts }: WholeRun): TokenLogprob[] {
  return parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
}

/** What engines do that say they can. */
export const capabilityCases: readonly ContractCheck[] = [
  {
    name: 'completes a prompt as it is, no further than it may',
    asks: 'completion',
    async check(bench) {
      const { result, parts } = await bench.run(await bench.shared(), completion('one two three'))
      assert.equal(parts[0]?.type, 'started')
      assert(result.usage.completionTokens <= 3)
      await bench.assertUsable(await bench.shared())
    },
  },
  {
    name: 'sends a prompt back before what it adds, where that is asked for',
    asks: 'echo',
    async check(bench) {
      const prompt = 'one two é'
      const { text } = await bench.run(await bench.shared(), completion(prompt, { echo: true, maxTokens: 0 }))
      assert.equal(text, prompt)
    },
  },
  {
    name: 'takes prompts of token ids, and refuses ids that are none of its model’s before the first part',
    asks: 'tokenInput',
    async check(bench) {
      const model = await bench.shared()
      const { result } = await bench.run(model, completion([5, 6, 7], { maxTokens: 1 }))
      assert.equal(result.usage.promptTokens, await model.countTokens(completion([5, 6, 7])))
      for (const id of [FOREIGN_TOKEN, -1])
        await failure(bench.start(model, completion([5, id])).next(), 'invalid_request')
      await bench.assertUsable(model)
    },
  },
  {
    name: 'tells of each token how likely it was, and of so many others',
    asks: 'logprobs',
    async check(bench) {
      const { task } = bench.chat(0)
      for (const topLogprobs of [0, 2]) {
        const run = await bench.run(await bench.shared(), { ...task, topLogprobs, maxTokens: 3 })
        const tokens = logprobsOf(run)
        assert.equal(tokens.map(({ text }) => text).join(''), run.text)
        for (const { logprob, top } of tokens) {
          assert(logprob <= 0, `${logprob}`)
          assert(top.length <= topLogprobs, `${top.length} others`)
        }
      }
    },
  },
  {
    name: 'refuses a bias of tokens that its model has not, and goes on',
    asks: 'logitBias',
    async check(bench) {
      const model = await bench.shared()
      const { task } = bench.chat(0)
      const sampling = { ...task.sampling, logitBias: { [FOREIGN_TOKEN]: 1 } }
      await failure(bench.start(model, { ...task, sampling }).next(), 'invalid_request')
      await bench.assertUsable(model)
    },
  },
]
