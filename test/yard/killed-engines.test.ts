import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createYard, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { foxes } from '../models/fox-sound.ts'
import { ENGINES_DIRECTORY, fetched } from '../models/paths.ts'
import { HAS_TRANSFORMERS, pulled } from '../transformers/fixtures.ts'
import { descendants, isRunning, openHome, sleep, until } from './harness.ts'

const minilm = HAS_TRANSFORMERS ? await pulled('minilm-onnx') : undefined
const whisper = HAS_TRANSFORMERS ? await pulled('whisper-tiny') : undefined
const joe = fetched(join(ENGINES_DIRECTORY, 'speech')) ? await pulled('piper-joe') : undefined

/** A model of an engine, and what it is asked. */
interface Subject {
  name: string
  source: string | undefined
  quick: (yard: Yard) => Promise<unknown>
  /** Takes a second at least. */
  long: (yard: Yard) => Promise<unknown>
}

const SUBJECTS: Subject[] = [
  {
    name: 'transformers, embedding',
    source: minilm,
    quick: (yard) => yard.embed({ model: 'm', input: 'one' }),
    long: (yard) =>
      yard.embed({ model: 'm', input: Array.from({ length: 500 }, () => 'some words '.repeat(100)) }),
  },
  {
    name: 'transformers, transcription',
    source: whisper,
    quick: (yard) => yard.transcribe({ model: 'm', audio: foxes(1) }),
    long: (yard) => yard.transcribe({ model: 'm', audio: foxes(40) }),
  },
  {
    name: 'speech',
    source: joe,
    quick: (yard) => yard.speak({ model: 'm', text: 'Yes.' }).bytes(),
    long: (yard) =>
      yard.speak({ model: 'm', text: 'One two three four five six seven eight. '.repeat(40) }).bytes(),
  },
]

/** How a call ends: `answered`, or its error's code. */
function ending(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'answered',
    (error: unknown) => (error as { code: string }).code,
  )
}

describe.each(SUBJECTS.map((subject) => [subject.name, subject] as const))(
  'kill -9 of a worker: %s',
  (_, { source, quick, long }) => {
    let home: TestHome
    let yard: Yard
    const pids = new Set<number>()
    beforeAll(async () => {
      home = await openHome()
      yard = await createYard({ home: home.path, models: { m: { source: source ?? '', keepAlive: -1 } } })
    })
    afterAll(async () => {
      await yard.stop({ deadline: 0 })
      await home.remove()
    })

    /** The worker that there is now, or is coming. */
    async function worker(): Promise<number> {
      await until(() => descendants(process.pid).length > 0)
      const [pid = 0] = descendants(process.pid)
      pids.add(pid)
      return pid
    }

    async function kill(): Promise<void> {
      process.kill(await worker(), 'SIGKILL')
    }

    /** Once no instance is there any more: booked bytes, tickets, runs, and processes. */
    async function remains(): Promise<unknown[]> {
      await until(() => yard.state().instances.length === 0)
      const { memory, queue, runs } = yard.state()
      return [memory.ram?.booked, queue.length, runs.active, [...pids].filter(isRunning)]
    }
    const NOTHING = [0, 0, 0, []]

    it.runIf(source !== undefined)('while it is idle: nothing is left', async () => {
      expect(await ending(quick(yard))).toBe('answered')
      await kill()
      expect(await remains()).toEqual(NOTHING)
    })

    it.runIf(source !== undefined)(
      'while it works: the next request loads anew, the client is told, nothing is left',
      async () => {
        expect(await ending(quick(yard))).toBe('answered')
        const running = ending(long(yard))
        await until(() => yard.state().runs.active === 1)
        await sleep(200)
        await kill()
        // What has sent nothing yet is repeated unseen (R11).
        await until(() => yard.state().instances.every(({ state }) => state === 'ready'))
        await yard.unloadModel('m', { force: true })
        expect(['worker_exited', 'run_cut', 'aborted']).toContain(await running)
        expect(await remains()).toEqual(NOTHING)
      },
    )

    it.runIf(source !== undefined)(
      'while it is unloaded with a run under way: everybody is answered',
      async () => {
        await yard.loadModel('m')
        const running = ending(long(yard))
        await until(() => yard.state().runs.active === 1)
        await sleep(100)
        const unloading = yard.unloadModel('m', { force: true })
        await kill()
        await unloading
        expect(['worker_exited', 'run_cut', 'aborted']).toContain(await running)
        expect(await remains()).toEqual(NOTHING)
      },
    )

    it.runIf(source !== undefined)('while it loads: who waits is answered, nothing is left', async () => {
      const waiting = ending(quick(yard))
      await kill()
      expect(await waiting).toBe('model_load_failed')
      expect(await remains()).toEqual(NOTHING)
    })
  },
)
