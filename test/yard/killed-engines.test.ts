import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelInput } from '../../src/config/configuration-input.ts'
import type { Message } from '../../src/tasks/message.ts'
import type { Part } from '../../src/tasks/part.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import type { TestHome } from '../cli/program.ts'
import { HAS_SERVER } from '../llama-server/fixtures.ts'
import { HAS_MLX, removeRecords } from '../mlx/fixtures.ts'
import { foxes } from '../models/fox-sound.ts'
import {
  ENGINES_DIRECTORY,
  fetched,
  removeFolder,
  temporaryFolder,
  TINY_CHAT,
  TINY_CHAT_FOLDER,
} from '../models/paths.ts'
import { FAKE_SD_SERVER, writePainter } from '../sd-server/fixtures.ts'
import { HAS_TRANSFORMERS, pulled } from '../transformers/fixtures.ts'
import { descendants, ENDLESS, HAS_LLAMA, isRunning, openHome, sleep, until } from './harness.ts'

afterAll(removeRecords)

const minilm = HAS_TRANSFORMERS ? await pulled('minilm-onnx') : undefined
const whisper = HAS_TRANSFORMERS ? await pulled('whisper-tiny') : undefined
const joe = fetched(join(ENGINES_DIRECTORY, 'speech')) ? await pulled('piper-joe') : undefined

const TINY = { context: 2048, slots: 2 }
const SPOKEN = { temperature: 0, logitBias: ENDLESS }
const FOLLOWERS = [process.execPath, join(import.meta.dirname, '../programs/server-group.mjs')]

type Entry = Exclude<ModelInput, string>

/** A model of an engine, and what it is asked. */
interface Subject {
  name: string
  /** Undefined where it cannot be run. */
  entry: Entry | undefined
  quick: (yard: Yard) => Promise<unknown>
  /** Takes a second at least. */
  long: (yard: Yard) => Promise<unknown>
  /** Speaks at once and for a second at least, for engines that write text. */
  talks?: (yard: Yard) => AsyncIterable<Part>
}

const folder = await temporaryFolder()
afterAll(() => removeFolder(folder))

/** Of a text engine with tiny-chat: an answer, a long prompt, and an answer without an end. */
function talker(name: string, entry: Entry | undefined, sampling: object = SPOKEN): Subject {
  const messages = (content: string): { messages: Message[] } => ({ messages: [{ role: 'user', content }] })
  return {
    name,
    entry,
    quick: (yard) => yard.chat({ model: 'm', ...messages('hi'), temperature: 0 }).answer(),
    long: (yard) =>
      yard.chat({ model: 'm', ...messages('one two three '.repeat(150)), ...sampling }).answer(),
    talks: (yard) => yard.chat({ model: 'm', ...messages('Count.'), ...sampling }),
  }
}

const GROUP: Entry = {
  engine: 'upstream',
  remoteModel: 'group',
  start: {
    command: [...FOLLOWERS, '{port}', '{rank}', '{count}', '{master}', 'by-text'],
    followerArguments: ['--follow={master}'],
    count: 2,
    memory: '64MiB',
    environment: { GROUP_KEY: '{key}' },
  },
}

const SUBJECTS: Subject[] = [
  {
    name: 'transformers, embedding',
    entry: minilm === undefined ? undefined : { source: minilm },
    quick: (yard) => yard.embed({ model: 'm', input: 'one' }),
    long: (yard) =>
      yard.embed({ model: 'm', input: Array.from({ length: 500 }, () => 'some words '.repeat(100)) }),
  },
  {
    name: 'transformers, transcription',
    entry: whisper === undefined ? undefined : { source: whisper },
    quick: (yard) => yard.transcribe({ model: 'm', audio: foxes(1) }),
    long: (yard) => yard.transcribe({ model: 'm', audio: foxes(40) }),
  },
  {
    name: 'speech',
    entry: joe === undefined ? undefined : { source: joe },
    quick: (yard) => yard.speak({ model: 'm', text: 'Yes.' }).bytes(),
    long: (yard) =>
      yard.speak({ model: 'm', text: 'One two three four five six seven eight. '.repeat(40) }).bytes(),
  },
  talker('node-llama-cpp', HAS_LLAMA ? { file: TINY_CHAT, ...TINY } : undefined),
  talker('llama-server', HAS_SERVER ? { engine: 'llama-server', file: TINY_CHAT, ...TINY } : undefined),
  talker('mlx', HAS_MLX ? { source: TINY_CHAT_FOLDER, ...TINY } : undefined),
  // It cannot be told which tokens to leave out; its program does what is asked for in words.
  talker('upstream, a group of two that was started', GROUP, {}),
  {
    name: 'sd-server, a fake one',
    entry: {
      engine: 'sd-server',
      file: await writePainter(folder),
      binary: FAKE_SD_SERVER,
      largestSize: '256x256',
      size: '64x64',
    },
    quick: (yard) => yard.generateImage({ model: 'm', prompt: 'x', steps: 1 }),
    long: (yard) => yard.generateImage({ model: 'm', prompt: 'x', steps: 100 }),
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
  (_, { entry, quick, long, talks }) => {
    let home: TestHome
    let yard: Yard
    const pids = new Set<number>()
    beforeAll(async () => {
      home = await openHome()
      yard = await createYard({ home: home.path, models: { m: { ...entry, keepAlive: -1 } } })
    })
    afterAll(async () => {
      await yard.stop({ deadline: 0 })
      await home.remove()
    })

    /** The process that there is now, or is coming: the last of a group. The others are to go with it. */
    async function kill(): Promise<void> {
      await until(() => descendants(process.pid).length > 0)
      const all = descendants(process.pid)
      for (const pid of all) pids.add(pid)
      process.kill(all.at(-1) ?? 0, 'SIGKILL')
    }

    /** Once no instance is there any more: booked bytes, tickets, runs, and processes. */
    async function remains(): Promise<unknown[]> {
      await until(() => yard.state().instances.length === 0)
      const { memory, queue, runs } = yard.state()
      return [memory.ram?.booked, queue.length, runs.active, [...pids].filter(isRunning)]
    }
    const NOTHING = [0, 0, 0, []]

    it.runIf(entry !== undefined)('while it is idle: nothing is left', async () => {
      expect(await ending(quick(yard))).toBe('answered')
      await kill()
      expect(await remains()).toEqual(NOTHING)
    })

    it.runIf(entry !== undefined)(
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

    it.runIf(entry !== undefined && talks !== undefined)(
      'while it speaks: the client is told, the next request is answered, nothing is left',
      async () => {
        expect(await ending(quick(yard))).toBe('answered')
        const heard: unknown[] = []
        const speaking = ending(
          (async () => {
            for await (const part of talks?.(yard) ?? []) if (part.type === 'text') heard.push(part)
          })(),
        )
        await until(() => heard.length > 0)
        await kill()
        expect(await speaking).toBe('worker_exited')
        expect(await ending(quick(yard))).toBe('answered')
        await yard.unloadModel('m')
        expect(await remains()).toEqual(NOTHING)
      },
    )

    it.runIf(entry !== undefined)(
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

    it.runIf(entry !== undefined)('while it loads: who waits is answered, nothing is left', async () => {
      const waiting = ending(quick(yard))
      await kill()
      expect(await waiting).toBe('model_load_failed')
      expect(await remains()).toEqual(NOTHING)
    })
  },
)
