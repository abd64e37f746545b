import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sleep, SystemClock } from '../../src/base/clock.ts'
import { ModelyardError } from '../../src/base/errors.ts'
import type { LoadProgress } from '../../src/engines/engine.ts'
import { isAlive } from '../../src/host/process-identity.ts'
import {
  collect,
  createWorkerEngine,
  load,
  order,
  planFor,
  PROGRAMS,
  workerEntry,
} from './worker-fixtures.ts'
import { temporaryFolder } from '../host/temporary-folder.ts'
import { soonest } from '../soonest.ts'

const clock = new SystemClock()

function workersIn(directory: string): number[] {
  return readdirSync(directory).map((name) => Number(name.split('-')[0]))
}

describe('a load that fails', () => {
  const engine = createWorkerEngine()

  it('because the worker is of another version ends that worker with words, never the server', async () => {
    const other = createWorkerEngine({ entry: join(PROGRAMS, 'speaks-otherwise.mjs') })
    await expect(load(other)).rejects.toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining('restart the server after an upgrade') as string,
    })
  })

  it.each([
    [{ exitCode: 137 }, 'out_of_memory'],
    [{ killedBy: 'SIGKILL' }, 'out_of_memory'],
    [{ killedBy: 'SIGILL' }, 'crash'],
    [{ killedBy: 'SIGSEGV' }, 'crash'],
    [{ killedBy: 'SIGABRT' }, 'crash'],
    [{ killedBy: 'SIGABRT', say: "terminate called after throwing 'std::bad_alloc'" }, 'out_of_memory'],
    [{ exitCode: 1 }, 'crash'],
    [{ exitCode: 0 }, 'crash'],
  ])('with %j is of class %s', async (options, failure) => {
    await expect(load(engine, options)).rejects.toMatchObject({
      code: 'model_load_failed',
      details: { failure },
    })
  })

  it('by an error of the engine keeps its words and has the last 40 log lines (M10)', async () => {
    const say = Array.from({ length: 60 }, (_, line) => `line ${line}`).join('\n')
    const error = await load(engine, { fails: {}, say }).catch((thrown: unknown) => thrown as ModelyardError)
    expect(error).toMatchObject({ code: 'model_load_failed', message: 'the file is damaged' })
    const { logTail } = (error as ModelyardError).details as { logTail: string[] }
    expect(logTail).toHaveLength(40)
    expect(logTail.at(-1)).toBe('line 59')
  })

  it('by a module that is not there says so', async () => {
    const broken = createWorkerEngine({ engine: 'module:/nowhere/engine.mjs' })
    await expect(load(broken)).rejects.toMatchObject({
      code: 'model_load_failed',
      message: expect.stringContaining('/nowhere/engine.mjs') as string,
    })
  })

  it('by an unknown engine says so', async () => {
    await expect(load(createWorkerEngine({ engine: 'toaster' }))).rejects.toThrow(/"toaster"/)
  })

  it('does not flood the server: 200 MB on stderr leave 40 bounded lines', async () => {
    const error = await load(engine, { floods: 200e6, exitCode: 1 }).catch((thrown: unknown) => thrown)
    const { logTail } = (error as ModelyardError).details as { logTail: string[] }
    expect(logTail.length).toBeLessThanOrEqual(40)
    expect(logTail.join('').length).toBeLessThanOrEqual(40_000)
  })
})

describe('a load that is given up', () => {
  it.each([{ never: true }, { deaf: true }, { block: 60_000 }])(
    'ends its worker at once, whatever that is doing: %j',
    async (options) => {
      const took = await soonest(async () => {
        const recordsDirectory = temporaryFolder('records')
        const abort = new AbortController()
        const loading = load(createWorkerEngine({ recordsDirectory }), options, abort.signal)
        await sleep(clock, 400)
        const [pid = 0] = workersIn(recordsDirectory)
        expect(isAlive({ pid, startTime: null })).toBe(true)
        const aborted = clock.now()
        abort.abort(new ModelyardError('timeout', 'the deadline of the load has passed'))
        await expect(loading).rejects.toMatchObject({ code: 'timeout' })
        expect(isAlive({ pid, startTime: null })).toBe(false)
        expect(readdirSync(recordsDirectory)).toEqual([])
        return clock.now() - aborted
      }, 1000)
      expect(took).toBeLessThan(1000)
    },
  )

  it('before it began starts nothing', async () => {
    await expect(load(createWorkerEngine(), {}, AbortSignal.abort())).rejects.toMatchObject({
      code: 'aborted',
    })
  })
})

describe('a load', () => {
  it('reports progress', async () => {
    const seen: LoadProgress[] = []
    const model = await createWorkerEngine().load(planFor({ progress: 0.5 }), {
      signal: new AbortController().signal,
      onProgress: (progress) => seen.push(progress),
    })
    expect(seen).toEqual([{ stage: 'starting' }, { stage: 'loading', fraction: 0.5 }])
    await model.unload()
  })

  it('offers parking exactly when the engine does', async () => {
    const engine = createWorkerEngine()
    const [without, parking] = [await load(engine), await load(engine, { parks: true })]
    expect('saveSlot' in without && without.saveSlot !== undefined).toBe(false)
    expect(await parking.saveSlot?.(3, '/a/path')).toEqual({ tokens: 3, bytes: 7 })
    expect(await parking.restoreSlot?.(0, '/a/path')).toBe(true)
    expect(await parking.restoreSlot?.(1, '/a/path')).toBe(false)
    await Promise.all([without.unload(), parking.unload()])
  })

  it('works from paths with spaces, quotes, umlauts and shell signs, and for such a model id (BR-24)', async () => {
    const root = temporaryFolder('worker')
    const directory = join(root, `mo dels/Modell é'"$(touch ${join(root, 'touched').replaceAll('/', '_')})`)
    mkdirSync(directory, { recursive: true })
    cpSync(dirname(workerEntry()), join(directory, 'dist'), { recursive: true })
    cpSync(join(PROGRAMS, 'obedient-engine.mjs'), join(directory, "engine '1'.mjs"))
    const engine = createWorkerEngine({
      entry: join(directory, 'dist', basename(workerEntry())),
      engine: `module:${join(directory, "engine '1'.mjs")}`,
      recordsDirectory: join(directory, 'records'),
      logDirectory: join(directory, 'logs'),
    })
    const model = await engine.load(planFor({ say: 'hello' }, `org/Modell é'"$(x)`), {
      signal: new AbortController().signal,
      onProgress: () => undefined,
    })
    expect((await collect(model, { parts: 1 })).text).toBe('0 ')
    await model.unload()
    const [log = ''] = readdirSync(join(directory, 'logs'))
    expect(readFileSync(join(directory, 'logs', log), 'utf8')).toBe('hello\n')
    expect(existsSync(join(root, 'touched'))).toBe(false)
  })

  it('needs no disk: where no record can be written (full, read-only) it failed with ENOSPC (BR-25)', async () => {
    const model = await load(createWorkerEngine({ recordsDirectory: '/dev/null/records' }))
    expect((await collect(model, { parts: 1 })).text).toBe('0 ')
    await model.unload()
  })

  it('keeps our secrets out of the worker', async () => {
    process.env['MODELYARD_TEST_TOKEN'] = 'secret'
    process.env['NODE_OPTIONS_SEEN'] = 'x'
    const model = await load(createWorkerEngine())
    const environment = readFileSync(`/proc/${model.pid}/environ`, 'utf8')
    await model.unload()
    expect(environment).toContain('PATH=')
    expect(environment).not.toMatch(/secret|NODE_OPTIONS/)
  })
})

describe('a spare worker (R18)', () => {
  it('stands ready after the first load, is used by the next, and goes with close()', async () => {
    const engine = createWorkerEngine({ spareWorkers: 1 })
    const stands = async (): Promise<number> => {
      await expect.poll(() => engine.sparePids).toHaveLength(1)
      return engine.sparePids[0] ?? 0
    }
    const first = await load(engine)
    const spare = await stands()
    const second = await load(engine)
    expect(second.pid).toBe(spare)
    expect((await collect(second, { parts: 1 })).text).toBe('0 ')
    const third = await stands()
    await engine.close()
    expect(isAlive({ pid: third, startTime: null })).toBe(false)
    expect(engine.sparePids).toEqual([])
    await Promise.all([first.unload(), second.unload()])
  })

  it('that has died is not used', async () => {
    const engine = createWorkerEngine({ spareWorkers: 1 })
    engine.prepareSpares()
    process.kill(engine.sparePids[0] ?? 0, 'SIGKILL')
    await expect.poll(() => engine.sparePids).toEqual([])
    const model = await load(engine)
    await model.ping()
    expect(await model.countTokens(order({}))).toBe(2)
    await engine.close()
    await model.unload()
  })
})
