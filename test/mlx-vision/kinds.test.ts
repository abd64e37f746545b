import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { installedMlx } from '../../src/engines/mlx/find-mlx.ts'
import type { ChatTask } from '../../src/tasks/chat-task.ts'
import { BLUE, png, RED } from '../models/tiny-image.ts'
import { TINY_CHAT_FOLDER } from '../models/paths.ts'
import { ask, chat, completion } from '../node-llama-cpp/fixtures.ts'
import { load, MISSING, planOf, removeFolder, seen, VISION_ENGINES } from './fixtures.ts'

const folder = await mkdtemp(join(tmpdir(), 'modelyard-kinds-'))
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await removeFolder()
})

async function write(kind: string): Promise<string> {
  const { python } = installedMlx(VISION_ENGINES)
  const path = join(folder, kind)
  const script = join(import.meta.dirname, 'make-random-model.py')
  await promisify(execFile)(python, [script, kind, TINY_CHAT_FOLDER, path])
  return path
}

const [red, blue] = [png(100, 60, RED), png(60, 100, BLUE)]

function about(...images: Uint8Array[]): ChatTask {
  const sampling = { temperature: 0, repeatPenalty: 1.1, logitBias: { 0: -100, 2: -100 } }
  return chat([seen(...images, 'What?')], { sampling, maxTokens: 6, topLogprobs: 0 })
}

describe.skipIf(MISSING !== undefined)('mlx-vlm: kinds of models with processors of their own', () => {
  it.each(['llava', 'gemma3', 'smolvlm'])(
    '%s sees one image and two, held to a form and not',
    async (kind) => {
      const path = await write(kind)
      const model = await load(await planOf(path, { context: 1024 }))
      try {
        const answers = await Promise.all(
          [about(red), about(blue), about(red, blue)].map((task) => ask(model, task)),
        )
        const likely = answers.map(({ parts }) =>
          parts
            .flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
            .map(({ logprob }) => logprob),
        )
        expect(new Set(likely.map((values) => values.join(' '))).size).toBe(3)
        // From token to token, each time with all that was taken before.
        const letters = { type: 'grammar' as const, grammar: 'root ::= [a-z ]+' }
        const { text } = await ask(model, { ...about(red), format: letters })
        expect(text).toMatch(/^[a-z ]+$/)
        expect((await ask(model, completion('abc', { maxTokens: 3 }))).result.usage.completionTokens).toBe(3)
      } finally {
        await model.unload()
      }
    },
  )
})
