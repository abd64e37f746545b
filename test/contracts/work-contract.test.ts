import { cp, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../src/engines/engine.ts'
import { SpeechEngine } from '../../src/engines/speech/speech-engine.ts'
import { SdServerEngine } from '../../src/engines/sd-server/sd-server-engine.ts'
import { workContract, type WorkContractSubject } from '../../src/testing/index.ts'
import { writeCaptioner } from '../models/tiny-vision-onnx.ts'
import { png, RED, WHITE } from '../models/tiny-image.ts'
import { processesWith } from '../llama-server/fixtures.ts'
import { foxes } from '../models/fox-sound.ts'
import { ENGINES_DIRECTORY, fetched, removeFolder, temporaryFolder } from '../models/paths.ts'
import { painterPlan, picture, putOnPath, writePainter } from '../sd-server/fixtures.ts'
import { HAS_TRANSFORMERS, inWorker, planOf, pulled, transformersEngine } from '../transformers/fixtures.ts'
import { SHORT_ENDS } from './short-ends.ts'

const folder = await temporaryFolder()
afterAll(() => removeFolder(folder))

/** A copy of a model's folder with half of one file. */
async function damaged(path: string, file: string, name: string, length = 100_000): Promise<string> {
  const copy = join(folder, name)
  await cp(path, copy, { recursive: true })
  await truncate(join(copy, file), length)
  return copy
}

const minilm = HAS_TRANSFORMERS ? await pulled('minilm-onnx') : undefined
const whisper = HAS_TRANSFORMERS ? await pulled('whisper-tiny') : undefined

const joe = fetched(join(ENGINES_DIRECTORY, 'speech')) ? await pulled('piper-joe') : undefined

function speechSubject(engine: Engine): WorkContractSubject {
  const path = joe ?? ''
  return {
    engine,
    plan: async () => planOf(engine, path),
    task: { kind: 'speech', text: 'Hello there.', format: 'wav' },
    verify: (parts) => {
      const bytes = parts.reduce((sum, part) => sum + (part.type === 'audio' ? part.data.length : 0), 0)
      expect(bytes).toBeGreaterThan(10_000)
    },
    long: { kind: 'speech', text: 'One two three four five six seven eight. '.repeat(20), format: 'wav' },
    refused: { task: { kind: 'speech', text: 'hi', format: 'wav', voice: '7' }, code: 'invalid_request' },
    corrupt: async () => planOf(engine, await damaged(path, 'voice.onnx', 'joe')),
  }
}

function minilmSubject(engine: Engine, name: string): WorkContractSubject {
  const path = minilm ?? ''
  return {
    engine,
    plan: async () => planOf(engine, path),
    task: { kind: 'embedding', inputs: ['one', 'two words'] },
    verify: (parts) => {
      const vectors = parts.flatMap((part) => (part.type === 'vector' ? [part] : []))
      expect(vectors.map(({ index, vector }) => [index, vector.length])).toEqual([
        [0, 384],
        [1, 384],
      ])
    },
    long: {
      kind: 'embedding',
      inputs: Array.from({ length: 500 }, (_, index) => `${index} ${'some more words '.repeat(60)}`),
    },
    refused: { task: { kind: 'embedding', inputs: ['word '.repeat(600)] }, code: 'context_length_exceeded' },
    corrupt: async () => planOf(engine, await damaged(path, 'onnx/model_quantized.onnx', name)),
  }
}

function whisperSubject(engine: Engine): WorkContractSubject {
  const path = whisper ?? ''
  return {
    engine,
    plan: async () => planOf(engine, path),
    task: { kind: 'transcription', audio: foxes(1) },
    verify: (parts) => {
      const text = parts.map((part) => (part.type === 'segment' ? part.text : '')).join('')
      expect(text).toMatch(/quick brown fox jumps over the lazy dog/i)
    },
    long: { kind: 'transcription', audio: foxes(30) },
    refused: { task: { kind: 'transcription', audio: foxes(1), language: 'de' }, code: 'unsupported' },
    corrupt: async () => planOf(engine, await damaged(path, 'onnx/encoder_model_quantized.onnx', 'whisper')),
  }
}

function captionSubject(engine: Engine): WorkContractSubject {
  const path = writeCaptioner(join(folder, 'writer'))
  return {
    engine,
    plan: async () => planOf(engine, path),
    task: { kind: 'captioning', image: png(8, 8, RED) },
    verify: (parts) => {
      const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      expect(text).toBe('a red picture')
    },
    long: { kind: 'captioning', image: png(8, 8, WHITE) },
    refused: {
      task: { kind: 'captioning', image: png(64, 64, RED).subarray(0, 60) },
      code: 'invalid_request',
    },
    corrupt: async () =>
      planOf(engine, await damaged(path, 'onnx/decoder_model_merged.onnx', 'scribbler', 100)),
  }
}

const painter = await writePainter(folder)
const takeOff = await putOnPath(join(folder, 'bin'))
afterAll(takeOff)

/** Of a fake program: no weights can be had. */
function painterSubject(): WorkContractSubject {
  return {
    engine: new SdServerEngine({ deadlines: SHORT_ENDS }),
    plan: async () => painterPlan(painter),
    task: picture({ count: 2, seed: 3 }),
    verify: (parts) => {
      const made = parts.flatMap((part) => (part.type === 'image' ? [part] : []))
      expect(made.map(({ index, seed, width, height }) => [index, seed, width, height])).toEqual([
        [0, 3, 64, 64],
        [1, 4, 64, 64],
      ])
    },
    long: picture({ steps: 100 }),
    refused: { task: picture({ width: 72 }), code: 'invalid_request' },
    corrupt: async () => painterPlan(await writePainter(folder, 'damaged')),
    // One is the model that all cases share.
    leftovers: async () => processesWith(folder).slice(1).map(String),
  }
}

const SUBJECTS: { name: string; runs: boolean; subject: WorkContractSubject }[] = [
  {
    name: 'transformers, in-process',
    runs: minilm !== undefined,
    subject: minilmSubject(transformersEngine(), 'in-process'),
  },
  {
    name: 'transformers, in a worker',
    runs: minilm !== undefined,
    subject: { ...minilmSubject(inWorker(transformersEngine(), SHORT_ENDS), 'worker'), ownProcess: true },
  },
  {
    name: 'transformers with Whisper, in a worker',
    runs: whisper !== undefined,
    subject: { ...whisperSubject(inWorker(transformersEngine(), SHORT_ENDS)), ownProcess: true },
  },
  {
    name: 'transformers with a writer of captions, in a worker',
    runs: HAS_TRANSFORMERS,
    subject: { ...captionSubject(inWorker(transformersEngine(), SHORT_ENDS)), ownProcess: true },
  },
  {
    name: 'speech, in a worker',
    runs: joe !== undefined,
    subject: {
      ...speechSubject(inWorker(new SpeechEngine({ enginesDirectory: ENGINES_DIRECTORY }), SHORT_ENDS)),
      ownProcess: true,
    },
  },
  {
    name: 'sd-server, a fake one',
    runs: process.platform === 'linux',
    subject: { ...painterSubject(), ownProcess: true },
  },
]

describe.each(SUBJECTS.map((row) => [row.name, row] as const))('%s', (_, { runs, subject }) => {
  const contract = workContract(subject)
  afterAll(() => contract.close())

  const asked = contract.cases.filter(({ gap }) => gap === undefined)
  const gaps = contract.cases.filter(({ gap }) => gap !== undefined)

  it.runIf(runs).each(asked.map(({ name, run }) => [name, run] as const))('%s', async (__, run) => {
    await expect(run()).resolves.toBeUndefined()
  })

  it.runIf(false).each(gaps.map(({ name, gap }) => `${name} (gap: ${gap})`))('%s', (gap) => {
    expect(gap).toBe('filled')
  })
})
