import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../src/tasks/message.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { HAS_LLAMA, ownYards, user } from '../yard/harness.ts'

const BEGINNING: Message = { role: 'system', content: 'the model and the server '.repeat(60) }

describe.runIf(HAS_LLAMA)(
  'agents that arrive at once with one beginning, with real weights (R3, R16)',
  () => {
    const test = ownYards()

    it.each([2, 4, 8])('%i of them compute it at most 1.3 times, on four slots', async (count) => {
      const { path: file } = makeTinyModel(join(test.home.path, 'a.gguf'))
      const yard = await test.open({
        models: { a: { file, context: 2048, slots: 4 } },
        contexts: { parking: 'always' },
      })
      const ask = async (name: string, cache?: 'none'): Promise<{ text: string; computed: number }> => {
        const messages = [BEGINNING, user(`${name} user and model`)]
        const more = cache === undefined ? {} : { cache }
        const { text, result } = await yard
          .chat({ model: 'a', messages, temperature: 0, maxTokens: 24, ...more })
          .answer()
        return { text, computed: result.usage.promptTokens - result.usage.cachedTokens }
      }
      const names = Array.from({ length: count }, (_, index) => `agent ${index}`)
      const answers = await Promise.all(names.map(async (name) => ask(name)))
      const whole = Math.max(...answers.map(({ computed }) => computed))
      const sum = answers.reduce((tokens, { computed }) => tokens + computed, 0)
      // Each computes a few tokens of its own besides.
      expect(sum).toBeLessThanOrEqual(1.3 * whole + count * 30)
      expect(whole).toBeGreaterThan(250)
      for (const [index, name] of names.entries())
        expect((await ask(name, 'none')).text).toBe(answers[index]?.text)
    })
  },
)
