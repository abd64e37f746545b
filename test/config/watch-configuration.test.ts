import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { SystemClock, sleep } from '../../src/base/clock.ts'
import { loadConfiguration } from '../../src/config.ts'
import type { ConfigurationChange } from '../../src/config/configuration-change.ts'
import { watchConfiguration } from '../../src/config/watch-configuration.ts'

const clock = new SystemClock()

interface WatchedFile extends AsyncDisposable {
  folder: string
  file: string
  changes: ConfigurationChange[]
  /** The changes, when so many have come and no more follow for a second. */
  changesAfter: (count: number) => Promise<ConfigurationChange[]>
}

/** A configuration file of its own for a test, and what its watch tells. */
async function watched(text: string, more: { quiet?: number } = {}): Promise<WatchedFile> {
  const folder = await mkdtemp(join(tmpdir(), 'yard-watch-'))
  const file = join(folder, 'modelyard.yaml')
  const changes: ConfigurationChange[] = []
  await writeFile(file, text)
  const options = { environment: { MODELYARD_HOME: folder }, workingDirectory: folder, file }
  const current = await loadConfiguration(options)
  const load = (): ReturnType<typeof loadConfiguration> => loadConfiguration({ ...options, reload: true })
  const onChange = (change: ConfigurationChange): void => void changes.push(change)
  const watch = await watchConfiguration({ clock, file, current, load, onChange, ...more })
  return {
    folder,
    file,
    changes,
    async changesAfter(count) {
      await vi.waitFor(() => expect(changes.length).toBeGreaterThanOrEqual(count), 20_000)
      await sleep(clock, 1000)
      return changes
    },
    async [Symbol.asyncDispose]() {
      await watch.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const MODELS = 'models:\n  a: {file: a.gguf, slots: 1}\n  b: {file: b.gguf, slots: 1}\n'

// Most of each is waiting for what must not come: they wait side by side.
describe.concurrent('a configuration file that is watched', () => {
  it('reloads once for five saves in one burst, one of them half-written (BR-44)', async () => {
    // A disk that other programs use takes its time for a save.
    await using watch = await watched(MODELS, { quiet: 3000 })
    const { file, changesAfter } = watch
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
    await using watch = await watched(MODELS)
    const { file, changesAfter } = watch
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
    await using watch = await watched(MODELS)
    const { file, changes, changesAfter } = watch
    await writeFile(file, `# a comment\n${MODELS}`)
    await sleep(clock, 1500)
    expect(changes).toEqual([])
    await writeFile(file, 'models:\n  a: {file: a.gguf, slots: 1}\n')
    expect(await changesAfter(1)).toMatchObject([{ difference: { removed: ['b'] } }])
  })

  it('follows a file that editors replace by renaming, again and again (BR-44)', async () => {
    await using watch = await watched(MODELS)
    const { file, changes, changesAfter } = watch
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
    await using watch = await watched(MODELS)
    const { file, changesAfter } = watch
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
    await using watch = await watched(MODELS)
    const { folder, changes } = watch
    await writeFile(join(folder, 'modelyard.yml'), 'models: {x: {file: x.gguf}}')
    await writeFile(join(folder, 'modelyard.db'), 'x')
    await sleep(clock, 1000)
    expect(changes).toEqual([])
  })
})
