import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { FIXED, HAS_LLAMA, openHome } from './harness.ts'

const CLIENTS = 8
const CHATS = 12
/** Texts that must have been embedded beside them. */
const EMBEDDED = 24

describe.runIf(HAS_LLAMA)('chat while embeddings flood the machine', () => {
  let home: TestHome
  let yard: Yard
  beforeAll(async () => {
    home = await openHome()
    const vectors = join(home.path, 'vectors.gguf')
    makeTinyModel(vectors, { pooling: 'mean', causal: false, dimension: 256, layers: 4, context: 512 })
    yard = await createYard({
      home: home.path,
      models: { tiny: { file: TINY_CHAT, context: 1024 }, vectors: { file: vectors, context: 512 } },
    })
    await Promise.all([yard.loadModel('tiny'), yard.loadModel('vectors')])
  })
  afterAll(async () => {
    await yard.stop()
    await home.remove()
  })

  it('both have processes of their own, each chat is answered while embeddings wait, and neither stands still', async () => {
    const pids = yard.state().instances.map(({ model, pid }) => [model, pid])
    expect(new Set(pids.map(([, pid]) => pid)).size).toBe(2)

    const flooding = { over: false, texts: 0 }
    const texts = Array.from({ length: 8 }, (_, index) => `text ${index} ${'of some words '.repeat(20)}`)
    const flood = async (): Promise<void> => {
      while (!flooding.over) {
        const { vectors } = await yard.embed({ model: 'vectors', input: texts })
        flooding.texts += vectors.length
      }
    }
    const clients = Array.from({ length: CLIENTS }, flood)
    const chats: { answered: boolean; queued: number }[] = []
    while (chats.length < CHATS || flooding.texts < EMBEDDED) {
      const { messages, answer } = FIXED[chats.length % FIXED.length] as (typeof FIXED)[number]
      const stream = yard.chat({ model: 'tiny', messages: messages as never, temperature: 0, timeout: '60s' })
      chats.push({ answered: (await stream.text()) === answer, queued: stream.info.queueMs })
    }
    flooding.over = true
    await Promise.all(clients)
    expect(chats.every(({ answered }) => answered)).toBe(true)
    // No chat waits until the flood is over: at most for what is being evaluated and what R9 lets pass.
    expect(Math.max(...chats.map(({ queued }) => queued))).toBeLessThan(20_000)
  })
})
