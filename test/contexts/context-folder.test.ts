import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, lstat, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'tsdown'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import { ContextFolder } from '../../src/contexts/context-folder.ts'
import { bodyOf, orderOf } from './parked-bodies.ts'

const clock = new SystemClock()
let home: string
let path: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'contexts-'))
  path = join(home, 'contexts')
})
afterEach(async () => rm(home, { recursive: true, force: true }))

/** Bytes that the folder and all in it take, as `du` counts. */
async function diskUsage(folder: string): Promise<number> {
  let bytes = (await lstat(folder)).blocks * 512
  for (const name of await readdir(folder)) bytes += (await lstat(join(folder, name))).blocks * 512
  return bytes
}

async function opened(): Promise<ContextFolder> {
  const folder = new ContextFolder(path, clock)
  await folder.open()
  return folder
}

async function park(folder: ContextFolder, number: number): Promise<number> {
  const { bytes } = await folder.park(orderOf(number), async (file) => wrote(file, number))
  return bytes
}

async function wrote(file: string, number: number): Promise<undefined> {
  await writeFile(file, bodyOf(number))
  return undefined
}

/** A context whose file is whole when `seal` is called, and never when `fail` is. */
async function parkUnsealed(
  folder: ContextFolder,
): Promise<{ bytes: number; placed: Promise<void>; seal: () => void; fail: () => void }> {
  let [seal, fail] = [(): void => undefined, (): void => undefined]
  const due = new Promise<void>((done, failed) => {
    seal = done
    fail = () => failed(new Error('the disk is full'))
  })
  const parked = await folder.park(orderOf(1), async (file) => {
    await wrote(file, 1)
    return { sealed: due.then(async () => appendFile(file, 'seal')) }
  })
  return { ...parked, seal, fail }
}

describe('the folder of parked contexts (R16)', () => {
  it('gives back what was parked, to another process as well', async () => {
    const folder = await opened()
    await park(folder, 1)
    expect((await readFile(await folder.placeOf('context-1'))).equals(bodyOf(1))).toBe(true)
    await folder.close()
    const { contexts, reclaimed } = await new ContextFolder(path, clock).open()
    const { slot: _, ...order } = orderOf(1)
    expect(contexts).toMatchObject([{ record: { ...order, size: bodyOf(1).length } }])
    expect(reclaimed).toEqual({ files: 0, bytes: 0 })
  })

  it('is readable by its owner alone, while it is written as well', async () => {
    const folder = await opened()
    let during = 0
    await folder.park(orderOf(1), async (file) => {
      during = (await stat(file)).mode & 0o777
      // An engine may make the file anew.
      await rm(file)
      await writeFile(file, 'x', { mode: 0o644 })
      return undefined
    })
    await folder.close()
    expect(during).toBe(0o600)
    expect((await stat(path)).mode & 0o777).toBe(0o700)
    for (const name of await readdir(path)) expect((await stat(join(path, name))).mode & 0o777).toBe(0o600)
  })

  it('keeps nothing of what could not be written', async () => {
    const folder = await opened()
    const failing = folder.park(orderOf(1), async (file) => {
      await writeFile(file, 'half')
      throw new Error('the worker is gone')
    })
    await expect(failing).rejects.toThrow('the worker is gone')
    expect(await readdir(path)).toEqual([])
  })

  it('a slot is free before its file is whole; the file has its name when it is, and not before', async () => {
    const folder = await opened()
    const { bytes, placed, seal } = await parkUnsealed(folder)
    expect(await readdir(path)).toEqual(['context-1.slot.part'])
    const place = folder.placeOf('context-1')
    seal()
    await placed
    const whole = Buffer.concat([bodyOf(1), Buffer.from('seal')])
    expect((await readFile(await place)).equals(whole)).toBe(true)
    await folder.close()
    expect(await diskUsage(path)).toBeLessThanOrEqual(bytes)
    const { contexts } = await new ContextFolder(path, clock).open()
    expect(contexts).toMatchObject([{ record: { size: whole.length } }])
  })

  it('nothing is left of a file that did not become whole, and whoever parked it is told', async () => {
    const folder = await opened()
    const { placed, fail } = await parkUnsealed(folder)
    fail()
    await expect(placed).rejects.toThrow('the disk is full')
    await folder.close()
    expect(await readdir(path)).toEqual([])
  })

  it('what is removed before its file is whole goes as soon as it is, and whoever parks next waits for its bytes', async () => {
    const folder = await opened()
    const { seal } = await parkUnsealed(folder)
    folder.remove('context-1')
    const next = park(folder, 2)
    seal()
    await next
    expect((await readdir(path)).filter((name) => name.startsWith('context-1.'))).toEqual([])
    await folder.close()
    expect((await readdir(path)).sort()).toEqual(['context-2.json', 'context-2.slot'])
  })

  it('forgets what is removed at once, though it is still being written down', async () => {
    const folder = await opened()
    for (let number = 1; number <= 20; number++) {
      await park(folder, number)
      folder.remove(`context-${number}`)
    }
    await folder.close()
    expect(await readdir(path)).toEqual([])
  })

  it('BR-55: what it says it takes is what `du` says, the folder itself included', async () => {
    const folder = await opened()
    let said = 0
    for (let number = 1; number <= 30; number++) said += await park(folder, number)
    await folder.close()
    expect(await diskUsage(path)).toBeLessThanOrEqual(said)
    expect(await diskUsage(path)).toBeGreaterThan(said * 0.7)
  })

  it('BR-54: what is of no use is deleted at start, and said; what is not ours is left alone', async () => {
    const folder = await opened()
    for (const number of [1, 2, 3, 4, 5]) await park(folder, number)
    await folder.close()
    await rm(join(path, 'context-1.json'))
    await rm(join(path, 'context-2.slot'))
    await writeFile(join(path, 'context-3.json'), '{"format":"modelyard-context-1"}')
    await writeFile(join(path, 'context-4.slot'), 'short')
    await writeFile(join(path, 'context-9.slot.part'), 'half')
    await writeFile(join(path, 'notes.txt'), 'mine')
    const { contexts, reclaimed } = await new ContextFolder(path, clock).open()
    expect(contexts.map(({ record }) => record.context)).toEqual(['context-5'])
    expect(reclaimed.files).toBe(7)
    expect(reclaimed.bytes).toBeGreaterThan(bodyOf(1).length)
    expect((await readdir(path)).sort()).toEqual(['context-5.json', 'context-5.slot', 'notes.txt'])
  })

  it('a record with any byte changed is none', async () => {
    const folder = await opened()
    await park(folder, 1)
    await folder.close()
    const whole = await readFile(join(path, 'context-1.json'))
    for (let place = 0; place < whole.length; place += 7) {
      const damaged = Buffer.from(whole)
      damaged[place] = (damaged[place] ?? 0) ^ 0x11
      const again = await opened()
      await park(again, 1)
      await again.close()
      await writeFile(join(path, 'context-1.json'), damaged)
      expect((await new ContextFolder(path, clock).open()).contexts).toEqual([])
    }
  })

  it('1,000 contexts parked and removed leave neither files nor bytes', async () => {
    const folder = await opened()
    for (let number = 1; number <= 1000; number++) {
      await park(folder, number)
      if (number > 3) folder.remove(`context-${number - 3}`)
    }
    for (const number of [998, 999, 1000]) folder.remove(`context-${number}`)
    await folder.close()
    expect(await readdir(path)).toEqual([])
  }, 60_000)
})

describe('a server that is killed while it parks', () => {
  const built = resolve(import.meta.dirname, `../../.cache/test-contexts-${process.pid}`)
  beforeAll(async () => {
    const entry = join(import.meta.dirname, 'parking-program.ts')
    await build({
      entry,
      outDir: built,
      format: 'esm',
      dts: false,
      fixedExtension: false,
      logLevel: 'silent',
      config: false,
    })
  }, 60_000)
  afterAll(async () => rm(built, { recursive: true, force: true }))

  /** Parks, one after the other, from this number on, until it is killed. */
  async function killAfter(milliseconds: number, from: number): Promise<void> {
    const words = [join(built, 'parking-program.js'), path, String(from)]
    const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] })
    const closed = once(child, 'close')
    await once(child.stdout, 'data')
    await sleep(clock, milliseconds)
    child.kill('SIGKILL')
    await closed
  }

  it(
    'leaves nothing that is half: each that is found is whole, all else is reclaimed',
    { timeout: 120_000 },
    async () => {
      let found = 0
      // On a busy machine it takes more of them until something is whole.
      for (let kill = 0; kill < 20 || (found <= 5 && kill < 100); kill++) {
        await killAfter((kill * 7) % 60, kill * 1000 + 1)
        const folder = new ContextFolder(path, clock)
        const { contexts } = await folder.open()
        for (const { record } of contexts) {
          const body = await readFile(folder.pathOf(record.context))
          expect(body.equals(bodyOf(Number(record.context.split('-')[1])))).toBe(true)
        }
        expect((await readdir(path)).length).toBe(contexts.length * 2)
        found = contexts.length
      }
      expect(found).toBeGreaterThan(5)
    },
  )
})
