import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ServerGroup } from '../../src/engines/upstream/server-group.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { HAS_SERVER, loadServer } from '../llama-server/fixtures.ts'
import { foxes } from '../models/fox-sound.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { ENGINES_DIRECTORY, removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { png, RED } from '../models/tiny-image.ts'
import { ask, NEVER } from '../node-llama-cpp/fixtures.ts'

const PROGRAM = join(ENGINES_DIRECTORY, 'llama-server/llama-server')
const EXACT = { temperature: 0, maxTokens: 16 }

const groups: ServerGroup[] = []

/** The real program, as somebody else runs it. @returns the beginning of its API */
async function serve(file: string, ...options: string[]): Promise<string> {
  const command = [PROGRAM, '-m', file, '--host', '127.0.0.1', '--port', '{port}', '--alias', 'there']
  const start = {
    command: [...command, '-t', '1', '-c', '1024', ...options],
    memory: [{ ram: 200 * 2 ** 20 }],
  }
  const group = await ServerGroup.start({ model: 'there', start, clock: new SystemClock(), signal: NEVER })
  groups.push(group)
  return group.url
}

describe.runIf(HAS_SERVER)("llama.cpp's own server behind an upstream", () => {
  let folder: string
  let ranker: string
  let yard: Yard
  beforeAll(async () => {
    folder = await temporaryFolder()
    const model = { architecture: 'qwen3', pooling: 'rank', context: 128 } as const
    ranker = makeTinyModel(join(folder, 'ranker.gguf'), model).path
    const [chat, rank] = await Promise.all([serve(TINY_CHAT), serve(ranker, '--rerank')])
    yard = await createYard({
      home: false,
      models: {
        chat: { engine: 'upstream', url: chat, remoteModel: 'there' },
        rank: { engine: 'upstream', url: rank, remoteModel: 'there' },
      },
    })
  })
  afterAll(async () => {
    await yard.stop({ deadline: 0 })
    await Promise.all(groups.map((group) => group.stop()))
    await removeFolder(folder)
  })

  it('continues an answer, and takes token ids', async () => {
    const user = { role: 'user' as const, content: 'hi' }
    const whole = await yard.chat({ model: 'chat', messages: [user], ...EXACT }).answer()
    const [begun, rest] = [whole.text.slice(0, 10), whole.text.slice(10)]
    expect(rest.length).toBeGreaterThan(3)
    const messages = [user, { role: 'assistant' as const, content: begun }]
    expect((await yard.chat({ model: 'chat', messages, ...EXACT }).answer()).text).toBe(rest)
    const { result } = await yard.complete({ model: 'chat', prompt: [1, 2, 3], ...EXACT }).answer()
    expect(result.usage.promptTokens).toBe(3)
  })

  it('ranks as the same program does as a worker here', async () => {
    const documents = ['the quick brown fox', 'user and system', '']
    const { scores } = await yard.rerank({ model: 'rank', query: 'what is it?', documents })
    const worker = await loadServer(ranker)
    try {
      const { parts } = await ask(worker, { kind: 'rerank', query: 'what is it?', documents })
      const own = parts.flatMap((part) => (part.type === 'score' ? [part.score] : []))
      expect(own).toHaveLength(3)
      own.forEach((score, index) => expect(scores[index]).toBeCloseTo(score, 4))
    } finally {
      await worker.unload()
    }
  })

  it('is not asked for images, which it says that it does not see; what it refuses is told, and costs nobody else anything', async () => {
    const content = [{ type: 'image' as const, mediaType: 'image/png', data: png(8, 8, RED) }]
    const looking = yard.chat({ model: 'chat', messages: [{ role: 'user', content }] }).answer()
    await expect(looking).rejects.toThrow('The model "chat" does not support images here.')
    const lacking: [ability: string, asked: () => Promise<unknown>][] = [
      ['transcription', () => yard.transcribe({ model: 'chat', audio: foxes(1) })],
      ['speech', () => yard.speak({ model: 'chat', text: 'hi' }).bytes()],
      ['image', () => yard.generateImage({ model: 'chat', prompt: 'a cat' })],
      ['rerank', () => yard.rerank({ model: 'chat', query: 'what?', documents: ['one'] })],
      ['embedding', () => yard.embed({ model: 'chat', input: 'one' })],
    ]
    for (const [ability, asked] of lacking)
      await expect(asked()).rejects.toMatchObject({ code: 'unsupported', details: { ability } })
    const { capabilities } = await yard.control.describeModel('chat')
    expect(capabilities?.tasks).toEqual(['chat', 'completion'])
    const messages = [{ role: 'user' as const, content: 'hi' }]
    expect((await yard.chat({ model: 'chat', messages, ...EXACT }).answer()).text).toContain('Hello')
  })
})
