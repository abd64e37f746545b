import { existsSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { installServer } from '../../src/cli/engines/llama-server-install.ts'
import { readServerManifest, installedServer } from '../../src/engines/llama-server/server-manifest.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { ENGINES_DIRECTORY, removeFolder, temporaryFolder, TINY_CHAT } from '../models/paths.ts'
import { NEVER } from '../node-llama-cpp/fixtures.ts'

/** Kept, so that only the first run compiles, and one that was cut goes on. */
const ENGINES = resolve(import.meta.dirname, '../../.cache/compiled/engines')
/** 10 minutes on two idle cores. */
const DEADLINE = 7_200_000
const CARRIER = join(ENGINES_DIRECTORY, 'node-llama-cpp')
const MESSAGES = [{ role: 'user' as const, content: 'hi' }]

let folder: string
let yard: Yard
beforeAll(async () => {
  folder = await temporaryFolder()
  if (!existsSync(CARRIER)) return
  await mkdir(ENGINES, { recursive: true })
  if (!existsSync(join(ENGINES, 'node-llama-cpp'))) await symlink(CARRIER, join(ENGINES, 'node-llama-cpp'))
  const onLine = (line: string): void => void process.stderr.write(`${line}\n`)
  if ((await readServerManifest(ENGINES)) === undefined) {
    await installServer(ENGINES, { fromSource: true, signal: NEVER, onLine })
  }
  const engineOptions = { binary: installedServer(ENGINES).command }
  yard = await createYard({
    home: folder,
    models: { tiny: { engine: 'llama-server', source: TINY_CHAT, engineOptions, slots: 2, context: 512 } },
  })
}, DEADLINE)
afterAll(async () => {
  await (yard as Yard | undefined)?.stop({ deadline: 0 })
  await removeFolder(folder)
})

const hasSource = existsSync(CARRIER)

it.runIf(hasSource)('a llama-server that was compiled here says what it is', async () => {
  expect(await readServerManifest(ENGINES)).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    from: 'source',
    release: expect.stringMatching(/^v\d/) as string,
  })
})

it.runIf(hasSource)('and answers, exactly and within a schema', async () => {
  const exact = { model: 'tiny', messages: MESSAGES, temperature: 0, maxTokens: 32 }
  expect((await yard.chat(exact).answer()).text).toBe('Hello, how are you today?')
  const format = {
    type: 'json-schema' as const,
    name: 'answer',
    strict: true,
    schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  }
  const { text } = await yard.chat({ ...exact, format }).answer()
  expect(JSON.parse(text)).toEqual({ ok: expect.any(Boolean) as boolean })
})
