import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { YardEvent } from '../../src/events/event-map.ts'
import type { Yard } from '../../src/yard.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { openHome, ownYards, sleep, until } from '../yard/harness.ts'
import { ask, begin, contextsFolder, goOn, PARKING_ENGINES } from './turns.ts'

describe.each(PARKING_ENGINES)('contexts that survive, with real weights in %s (R16)', (engine) => {
  const test = ownYards()

  /** Two models of which one fits. */
  let models: Record<string, { engine: string; file: string; context: number; slots: number }>
  beforeEach(() => {
    const model = (name: string, seed: number): (typeof models)[string] => ({
      engine,
      file: makeTinyModel(join(test.home.path, `${name}.gguf`), { seed }).path,
      context: 512,
      slots: 1,
    })
    models = { a: model('a', 1), b: model('b', 2) }
  })

  const openYard = async (): Promise<{ yard: Yard; events: YardEvent[] }> => {
    const yard = await test.open({
      models,
      memory: { maxLargeModels: 1, smallModel: 0 },
      contexts: { parking: 'always' },
    })
    const events: YardEvent[] = []
    yard.subscribe((event) => events.push(event))
    return { yard, events }
  }

  it('the second turn after a swap reuses the first, and says the same as without', async () => {
    const { yard, events } = await openYard()
    const first = await ask(yard, 'a', begin('x'))
    await ask(yard, 'b', begin('y'))
    const turn = goOn(begin('x'), first.text)
    const second = await ask(yard, 'a', turn)
    expect(events.map(({ name }) => name)).toContain('context-restored')
    expect(second.cached).toBeGreaterThan(first.prompt - 5)
    expect(await ask(yard, 'a', turn, 'none')).toEqual({ ...second, cached: 0 })
  })

  it('so it is after a restart of the server', async () => {
    const { yard } = await openYard()
    const first = await ask(yard, 'a', begin('x'))
    await yard.stop()
    const again = await openYard()
    const second = await ask(again.yard, 'a', goOn(begin('x'), first.text))
    expect(second.cached).toBeGreaterThan(first.prompt - 5)
  })

  it('two conversations take turns on one slot, and each goes on', async () => {
    const { yard } = await openYard()
    const [x, y] = [await ask(yard, 'a', begin('x')), await ask(yard, 'a', begin('y'))]
    const second = await ask(yard, 'a', goOn(begin('x'), x.text))
    expect(second.cached).toBeGreaterThan(x.prompt - 5)
    expect((await ask(yard, 'a', goOn(begin('y'), y.text))).cached).toBeGreaterThan(y.prompt - 5)
    expect((await ask(yard, 'a', goOn(begin('x'), x.text), 'none')).text).toBe(second.text)
  })

  it('a flipped byte is a miss: computed again, and the file goes', async () => {
    const { yard } = await openYard()
    const first = await ask(yard, 'a', begin('x'))
    await yard.stop()
    const folder = contextsFolder(test.home.path)
    await flipByte(join(folder, 'context-1.slot'))
    const again = await openYard()
    const turn = goOn(begin('x'), first.text)
    const second = await ask(again.yard, 'a', turn)
    expect(second.cached).toBe(0)
    // It goes beside the answer, which does not wait for it.
    await until(async () => (await readdir(folder)).length === 0)
    expect((await ask(again.yard, 'a', turn, 'none')).text).toBe(second.text)
  })

  it('files are readable by their owner alone', async () => {
    const { yard } = await openYard()
    await ask(yard, 'a', begin('x'))
    await yard.stop()
    const folder = contextsFolder(test.home.path)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    const names = await readdir(folder)
    expect(names.sort()).toEqual(['context-1.json', 'context-1.slot'])
    for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
  })

  it('kill −9 while it parks leaves nothing that is read later, and the next server answers the same', async () => {
    const home = await openHome({ models, contexts: { parking: 'always' } })
    const messages = begin('x')
    const texts = new Set<string>()
    for (const [round, delay] of [0, 2, 5, 9].entries()) {
      const server = await home.serve()
      const chat = async (asked: object[]): Promise<string> => {
        const response = await fetch(`${server.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'a', messages: asked, temperature: 0, max_tokens: 12 }),
        })
        const body = (await response.json()) as { choices: { message: { content: string } }[] }
        return body.choices[0]?.message.content ?? ''
      }
      texts.add(await chat(messages))
      // Another conversation takes the only slot: what it holds is written.
      const other = chat(begin(`y${round}`)).catch(() => undefined)
      await sleep(delay)
      server.kill('SIGKILL')
      await Promise.all([server.ended, other])
    }
    expect([...texts]).toHaveLength(1)
    const last = await home.serve()
    const names = await readdir(contextsFolder(home.path))
    const ofWhole = names.map((name) => name.replace(/\.(slot|json)$/, ''))
    expect(names.filter((name) => name.endsWith('.part'))).toEqual([])
    expect(ofWhole.every((id) => ofWhole.filter((other) => other === id).length === 2)).toBe(true)
    last.kill('SIGTERM')
    await last.ended
  })
})

async function flipByte(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const byte = Buffer.alloc(1)
    await file.read(byte, 0, 1, Math.floor(size / 2))
    byte[0] = (byte[0] ?? 0) ^ 1
    await file.write(byte, 0, 1, Math.floor(size / 2))
  } finally {
    await file.close()
  }
}
