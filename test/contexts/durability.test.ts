import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Program, TestHome } from '../cli/program.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { HAS_LLAMA, openHome, sleep, until } from '../yard/harness.ts'
import { contextsFolder } from './turns.ts'

interface Answer {
  choices: { message: { role: string; content: string } }[]
  usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } }
}

const QUESTION = { role: 'user', content: `x ${'the model and the server '.repeat(8)}` }

async function ask({ url }: { url: string }, messages: object[]): Promise<Answer> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'a', messages, temperature: 0, max_tokens: 12 }),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as Answer
}

async function killed(server: Program): Promise<void> {
  server.kill('SIGKILL')
  await server.ended
}

describe.runIf(HAS_LLAMA)('contexts: {durability: answer}', () => {
  /** What of a conversation is reused by the server after one that was killed with −9 after its answer, and after whatever else is waited for. */
  async function reusedAfterKill(
    contexts: object,
    waiting: (home: TestHome) => Promise<unknown>,
  ): Promise<{ cached: number; prompt: number }> {
    const home = await openHome()
    const { path: file } = makeTinyModel(join(home.path, 'a.gguf'))
    await home.configure({ models: { a: { file, context: 512, slots: 2 } }, contexts })
    const first = await home.serve()
    const answer = await ask(first, [QUESTION])
    await waiting(home)
    await killed(first)
    const second = await home.serve()
    const message = answer.choices[0]?.message ?? {}
    const next = await ask(second, [QUESTION, message, { role: 'user', content: 'and the user' }])
    await killed(second)
    return { cached: next.usage.prompt_tokens_details.cached_tokens, prompt: answer.usage.prompt_tokens }
  }

  it(
    "kill −9 of the server costs nothing of an answer's context, once the disk has it",
    { timeout: 120_000 },
    async () => {
      // Milliseconds, where no other program makes the disk wait. Nothing but the answer makes it be written.
      const { cached, prompt } = await reusedAfterKill(
        { parking: 'always', durability: 'answer' },
        async (home) => until(() => existsSync(join(contextsFolder(home.path), 'context-1.json'))),
      )
      expect(cached).toBeGreaterThan(prompt - 5)
    },
  )

  it('is off by default: what was only in memory is lost', { timeout: 120_000 }, async () => {
    expect((await reusedAfterKill({ parking: 'always' }, async () => sleep(1000))).cached).toBe(0)
  })
})
