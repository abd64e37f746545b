import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { SystemClock, sleep } from '../../src/base/clock.ts'
import { loadConfiguration } from '../../src/config.ts'
import type { ConfigurationChange } from '../../src/config/configuration-change.ts'
import { watchConfiguration, type ConfigurationWatch } from '../../src/config/watch-configuration.ts'

const clock = new SystemClock()
let folder: string
let file: string
let watch: ConfigurationWatch | undefined
let changes: ConfigurationChange[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'yard-watch-'))
  file = join(folder, 'modelyard.yaml')
  changes = []
})
afterEach(async () => {
  await watch?.close()
  await rm(folder, { recursive: true, force: true })
})

async function start(text: string): Promise<void> {
  await writeFile(file, text)
  const options = { environment: { MODELYARD_HOME: folder }, workingDirectory: folder, file }
  const current = await loadConfiguration(options)
  const load = (): ReturnType<typeof loadConfiguration> => loadConfiguration({ ...options, reload: true })
  watch = await watchConfiguration({ clock, file, current, load, onChange: (change) => changes.push(change) })
}

/** The changes, when so many have come and no more follow for a second. */
async function changesAfter(count: number): Promise<ConfigurationChange[]> {
  await vi.waitFor(() => expect(changes.length).toBeGreaterThanOrEqual(count), { timeout: 10_000 })
  await sleep(clock, 1000)
  return changes
}

const MODELS = 'models:\n  a: {file: a.gguf, slots: 1}\n  b: {file: b.gguf, slots: 1}\n'

it('reloads once for five saves within 300 ms, one of them half-written (BR-44)', async () => {
  await start(MODELS)
  for (const text of [
    'models:\n',
    'models:\n  a: {slo',
    MODELS,
    `${MODELS}  c: {file: c.gguf}\n`,
    `${MODELS}  d: {file: d.gguf}\n`,
  ]) {
    await writeFile(file, text)
    await sleep(clock, 50)
  }
  const seen = await changesAfter(1)
  expect(seen).toMatchObject([{ type: 'reloaded', difference: { added: ['d'], removed: [], changed: [] } }])
})

it('says file and line of an invalid one, keeps the old one, and takes the next valid one (BR-44)', async () => {
  await start(MODELS)
  await writeFile(file, `${MODELS}  c: {slotz: 1}\n`)
  expect(await changesAfter(1)).toMatchObject([
    {
      type: 'rejected',
      file,
      message: `${file}:4:7: models.c.slotz is not an option; did you mean "slots"?`,
    },
  ])
  await writeFile(file, `${MODELS}  c: {file: c.gguf, slots: 1}\n`)
  expect((await changesAfter(2))[1]).toMatchObject({ type: 'reloaded', difference: { added: ['c'] } })
})

it('says nothing when only a comment changed (BR-44)', async () => {
  await start(MODELS)
  await writeFile(file, `# a comment\n${MODELS}`)
  await sleep(clock, 1500)
  expect(changes).toEqual([])
  await writeFile(file, 'models:\n  a: {file: a.gguf, slots: 1}\n')
  expect(await changesAfter(1)).toMatchObject([{ difference: { removed: ['b'] } }])
})

it('follows a file that editors replace by renaming, again and again (BR-44)', async () => {
  await start(MODELS)
  for (const [index, name] of ['c', 'd', 'e'].entries()) {
    await writeFile(`${file}.new`, `${MODELS}  ${name}: {file: x.gguf}\n`)
    await rename(`${file}.new`, file)
    expect((await changesAfter(index + 1)).at(-1)).toMatchObject({
      type: 'reloaded',
      difference: { added: [name] },
    })
  }
  expect(changes).toHaveLength(3)
})

it('keeps the old one when the file is emptied or taken away', async () => {
  await start(MODELS)
  await writeFile(file, '')
  expect(await changesAfter(1)).toMatchObject([
    { type: 'rejected', message: expect.stringContaining('empty') as string },
  ])
  await rm(file)
  expect((await changesAfter(2))[1]).toMatchObject({
    type: 'rejected',
    message: expect.stringContaining('ENOENT') as string,
  })
  await writeFile(file, MODELS)
  expect(await changesAfter(2)).toHaveLength(2)
})

it('takes no notice of other files beside it', async () => {
  await start(MODELS)
  await writeFile(join(folder, 'modelyard.yml'), 'models: {x: {file: x.gguf}}')
  await writeFile(join(folder, 'modelyard.db'), 'x')
  await sleep(clock, 1000)
  expect(changes).toEqual([])
})
