import { appendFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TestHome } from '../cli/program.ts'
import { descendants, openHome, serve, type ServedYard, sleep } from './harness.ts'

/** Longer than the quiet that ends a burst of saves, with margin for a busy machine. */
const SETTLED = 1500
/** Milliseconds of that quiet. */
const QUIET = 300

const says = (text: string, more: object = {}): object => ({
  engine: 'scripted',
  isolation: 'worker',
  script: [{ match: 'slowly', text: `${text} ${text} ${text} ${text}`, delay: 300 }, { text }],
  ...more,
})

describe('BR-44: the configuration is saved while `modelyard serve` runs', () => {
  let home: TestHome
  let served: ServedYard
  beforeEach(async () => {
    home = await openHome({ models: { kept: says('kept'), other: says('other') } })
    served = await serve(home)
    await ask('kept')
    await ask('other')
  })
  afterEach(async () => {
    await served.stop()
    await home.remove()
  })

  async function ask(model: string, words = 'hello'): Promise<string | number> {
    const { text, status } = await served.api.chat(words, { model })
    return text ?? status
  }

  async function save(models: object, more: object = {}): Promise<void> {
    await home.configure({ models, ...more })
  }

  const path = (): string => join(home.path, 'modelyard.yaml')
  const pidOf = async (model: string): Promise<number | undefined> => (await served.api.instance(model))?.pid
  const reloads = (): number => served.program.err().split('was read again').length - 1

  it('five times within 300 ms, once half-written: one reload, to what was saved last', async () => {
    const pid = await pidOf('kept')
    const begun = performance.now()
    for (let version = 1; version <= 4; version++) {
      await save({ kept: says('kept'), other: says(`version ${version}`) })
      await sleep(20)
    }
    await writeFile(path(), '{"models": {"kept": {"engi')
    await sleep(20)
    await save({ kept: says('kept'), other: says('other'), fresh: says('fresh') })
    // On a disk that is busy it took longer: each quiet within may have been one more end.
    const quiets = Math.floor((performance.now() - begun) / QUIET)
    await served.program.tells(/The configuration was read again: added fresh/)
    await sleep(SETTLED)
    const refusals = served.program.err().split('stays as it was').length - 1
    expect(reloads() + refusals).toBeLessThanOrEqual(1 + quiets)
    expect(await pidOf('kept')).toBe(pid)
    expect([await ask('kept'), await ask('other'), await ask('fresh')]).toEqual(['kept', 'other', 'fresh'])
    expect(descendants(served.program.pid)).toHaveLength(3)
  })

  it('with a mistake: it is told with line and column, the old one stays in force, and the next good one counts', async () => {
    const pid = await pidOf('kept')
    await writeFile(path(), 'models:\n  kept: {engine: scripted\n  other: [')
    await served.program.tells(/stays as it was[\s\S]*modelyard\.yaml:\d+:\d+/)
    await save({ kept: says('kept', { slotts: 3 }) })
    await served.program.tells(/slotts/)
    expect(await pidOf('kept')).toBe(pid)
    expect([await ask('kept'), await ask('other')]).toEqual(['kept', 'other'])
    await save({ kept: says('kept'), other: says('another') })
    await served.program.tells(/The configuration was read again: changed other\./)
    expect(await ask('other')).toBe('another')
    expect(await pidOf('kept')).toBe(pid)
  })

  it('with another comment, or another order of keys, only: nothing happens', async () => {
    const pids = [await pidOf('kept'), await pidOf('other')]
    await appendFile(path(), '\n# a remark\n')
    await sleep(SETTLED)
    await save({ other: says('other'), kept: says('kept') })
    await sleep(SETTLED)
    expect([await pidOf('kept'), await pidOf('other')]).toEqual(pids)
    expect(served.program.err()).not.toContain('changed')
  })

  it('without a model that is answering: the answer is whole, then it goes and is not known any more', async () => {
    const answer = ask('other', 'slowly please')
    await served.api.until(({ runs }) => runs.active === 1)
    await save({ kept: says('kept') })
    await served.program.tells(/was read again: removed other/)
    expect(await answer).toBe('other other other other')
    await served.api.until(({ instances }) => instances.length === 1)
    expect(await ask('other')).toBe(404)
    expect(await ask('kept')).toBe('kept')
  })

  it('with another model of the same name: a running answer ends as it began, the next is the new one’s', async () => {
    const answer = ask('other', 'slowly please')
    await served.api.until(({ runs }) => runs.active === 1)
    await save({ kept: says('kept'), other: says('new') })
    await served.program.tells(/was read again: changed other/)
    const next = ask('other')
    expect([await answer, await next]).toEqual(['other other other other', 'new'])
    await served.api.until(({ instances }) => instances.length === 2)
    expect(descendants(served.program.pid)).toHaveLength(2)
  })

  it('replaced by renaming, as editors do, while another model loads: that is loaded once', async () => {
    await save({ kept: says('kept'), other: says('other'), late: says('late', { loadTime: 1500 }) })
    await served.program.tells(/added late/)
    const answer = ask('late')
    await served.api.until(({ instances }) => instances.some(({ state }) => state === 'loading'))
    const next = {
      kept: says('kept'),
      other: says('other', { slots: 2 }),
      late: says('late', { loadTime: 1500 }),
    }
    await writeFile(`${path()}.new`, JSON.stringify({ models: next }))
    await rename(`${path()}.new`, path())
    await served.program.tells(/was read again: changed other/)
    expect(await answer).toBe('late')
    expect((await served.api.model('late')).loads).toBe(1)
    await ask('other')
    expect((await served.api.instance('other'))?.slots).toHaveLength(2)
  })

  it('with a smaller budget: idle models go until it holds', async () => {
    const memory = { budget: '12MiB' }
    await save({ kept: says('kept', { memory: '8MiB' }), other: says('other', { memory: '8MiB' }) })
    await served.program.tells(/changed kept, other/)
    expect([await ask('kept'), await ask('other')]).toEqual(['kept', 'other'])
    await save(
      { kept: says('kept', { memory: '8MiB' }), other: says('other', { memory: '8MiB' }) },
      { memory },
    )
    await served.program.tells(/other settings: memory/)
    await served.api.until((state) => (state.memory.ram?.booked ?? 0) <= 12 * 1024 ** 2)
    expect((await served.api.state()).memory.ram?.budget).toBe(12 * 1024 ** 2)
  })
})
