import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Yard } from '../../src/yard.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { descendants, isRunning, ownYards, sleep, until } from '../yard/harness.ts'
import { ask, begin, contextsFolder, goOn, PARKING_ENGINES } from './turns.ts'

/** Milliseconds after which a worker is killed that has to write one conversation and begin another. */
const MOMENTS = [0, 3, 10, 30]

/** What is in a folder and below it. */
function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
}

describe.each(PARKING_ENGINES)('kill -9 of a worker whose slot is being written: %s', (engine) => {
  const test = ownYards()

  const openYard = async (): Promise<Yard> =>
    test.open({
      models: {
        a: {
          engine,
          file: makeTinyModel(join(test.home.path, 'a.gguf'), { seed: 1 }).path,
          context: 512,
          slots: 1,
        },
      },
      contexts: { parking: 'always' },
    })

  it('whoever asks is answered or told, what comes after is right, and no half of a file stays (M19, BR-61)', async () => {
    const yard = await openYard()
    const seen = new Set<number>()
    for (const [round, moment] of MOMENTS.entries()) {
      const first = await ask(yard, 'a', begin(`x${round}`))
      const other = ask(yard, 'a', begin(`y${round}`)).then(
        () => 'answered',
        (error: { code: string }) => error.code,
      )
      await sleep(moment)
      for (const pid of descendants(process.pid)) {
        seen.add(pid)
        process.kill(pid, 'SIGKILL')
      }
      expect(['answered', 'worker_exited']).toContain(await other)
      const turn = goOn(begin(`x${round}`), first.text)
      const second = await ask(yard, 'a', turn)
      expect({ ...second, cached: 0 }).toEqual({ ...(await ask(yard, 'a', turn, 'none')), cached: 0 })
    }
    await yard.unloadModel('a')
    await until(() => yard.state().instances.length === 0)
    const { memory, queue, runs } = yard.state()
    expect([memory.ram?.booked, queue.length, runs.active, [...seen].filter(isRunning)]).toEqual([
      0,
      0,
      0,
      [],
    ])
    await yard.stop()
    expect(filesIn(contextsFolder(test.home.path)).filter((name) => /tmp|part/.test(name))).toEqual([])
    expect(filesIn(join(test.home.path, 'slots'))).toEqual([])
  })
})
