import { join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { checkOnnxFile } from '../../models/onnx/check-onnx-file.ts'
import type { Part } from '../../tasks/part.ts'
import type { SpeechTask } from '../../tasks/speech-task.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import { soundWriter } from './sound-writer.ts'
import type { Voice, VoiceConfiguration } from './speech-module.ts'
import { speechOptions } from './speech-options.ts'
import type { ImportedSherpa } from './speech-package.ts'

/** Text to speech, sentence by sentence. */
export class SpeechWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #voice: Voice
  readonly #modules: string

  static async load(plan: LoadPlan, sherpa: ImportedSherpa): Promise<SpeechWork> {
    const graph = graphOf(plan)
    // The library ends its process over a file that it cannot read.
    await checkOnnxFile(graph)
    const voice = await sherpa.module.OfflineTts.createAsync(
      configurationOf(plan, graph, sherpa.pronunciation),
    )
    return new SpeechWork(plan, voice, sherpa.modules)
  }

  private constructor(plan: LoadPlan, voice: Voice, modules: string) {
    this.#plan = plan
    this.#voice = voice
    this.#modules = modules
  }

  /** @throws ModelyardError `invalid_request` for a voice that the model does not have */
  prepare(task: Task): Work {
    requireTask(task, this.#plan)
    const speech = task as SpeechTask
    const speaker = this.#speakerOf(speech.voice)
    return (isOver) => this.#speak(speech, speaker, isOver)
  }

  countTokens(task: Task): number {
    requireTask(task, this.#plan)
    return 0
  }

  async warmUp(): Promise<void> {
    await this.#voice.generateAsync({
      text: 'Yes.',
      sid: 0,
      speed: 1,
      enableExternalBuffer: false,
      onProgress: () => true,
    })
  }

  /** The library frees a voice when nothing refers to it any more; a worker's end frees it for certain. */
  async dispose(): Promise<void> {}

  async *#speak(
    { text, format, speed = 1 }: SpeechTask,
    sid: number,
    isOver: () => boolean,
  ): AsyncGenerator<Part, undefined, void> {
    const writer = await soundWriter(format, this.#voice.sampleRate, this.#modules)
    const pieces = new SoundPieces()
    const making = this.#voice.generateAsync({
      text,
      sid,
      speed,
      enableExternalBuffer: false,
      onProgress: ({ samples }) => {
        pieces.add(Float32Array.from(samples))
        return !isOver()
      },
    })
    making.then(
      () => pieces.close(),
      () => pieces.close(),
    )
    let begun = false
    for (let samples = await pieces.next(); samples !== undefined; samples = await pieces.next()) {
      if (!begun) yield { type: 'started', promptTokens: 0, cachedTokens: 0 }
      begun = true
      yield { type: 'audio', data: writer.write(samples) }
    }
    await making
    if (!begun && !isOver()) throw nothingToSay()
    const rest = writer.end()
    if (rest.length > 0) yield { type: 'audio', data: rest }
    return undefined
  }

  /** By a name of the configuration, or by its number. A model with one speaker answers to any name: clients always send one. */
  #speakerOf(voice: string | undefined): number {
    const { voices = {} } = speechOptions(this.#plan.spec)
    if (voice === undefined) return 0
    if (Object.hasOwn(voices, voice)) return this.#requireSpeaker(voices[voice] ?? 0)
    if (/^\d{1,5}$/.test(voice)) return this.#requireSpeaker(Number(voice))
    if (this.#voice.numSpeakers <= 1) return 0
    const known = Object.keys(voices).join(', ')
    throw unknownVoice(
      `${known === '' ? '' : `${known}, or `}a number from 0 to ${this.#voice.numSpeakers - 1}`,
    )
  }

  #requireSpeaker(number: number): number {
    const { numSpeakers } = this.#voice
    if (number < Math.max(1, numSpeakers)) return number
    throw unknownVoice(`a number from 0 to ${numSpeakers - 1}`)
  }
}

/** What native code made, waiting for its reader. */
class SoundPieces {
  readonly #pieces: Float32Array[] = []
  #closed = false
  #wake: (() => void) | undefined

  add(samples: Float32Array): void {
    this.#pieces.push(samples)
    this.#wake?.()
  }

  close(): void {
    this.#closed = true
    this.#wake?.()
  }

  /** Undefined at the end. */
  async next(): Promise<Float32Array | undefined> {
    while (this.#pieces.length === 0 && !this.#closed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#pieces.shift()
  }
}

function graphOf({ facts }: LoadPlan): string {
  return join(facts.path ?? '', facts.onnx?.graphs.find(({ file }) => file.endsWith('.onnx'))?.file ?? '')
}

function configurationOf(plan: LoadPlan, model: string, installed: string): VoiceConfiguration {
  const folder = plan.facts.path ?? ''
  const { pronunciation: dataDir = installed } = speechOptions(plan.spec)
  const files = { model, tokens: join(folder, 'tokens.txt'), dataDir }
  const isKokoro = plan.facts.onnx?.modelType === 'kokoro'
  return {
    model: {
      ...(isKokoro ? { kokoro: { ...files, voices: join(folder, 'voices.bin') } } : { vits: files }),
      numThreads: plan.threads,
      debug: false,
      provider: 'cpu',
    },
    maxNumSentences: 1,
  }
}

function nothingToSay(): ModelyardError {
  return new ModelyardError('invalid_request', 'There is nothing in the text that can be spoken.', {
    details: { param: 'input' },
  })
}

function unknownVoice(known: string): ModelyardError {
  return new ModelyardError('invalid_request', `The model has no such voice; name ${known}.`, {
    details: { param: 'voice' },
  })
}
