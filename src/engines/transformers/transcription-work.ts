import type { Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { TranscriptionTask } from '../../tasks/transcription-task.ts'
import type { Usage } from '../../tasks/usage.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import { loadOptions } from './load-options.ts'
import { SAMPLE_RATE, SoundDecoder } from './sound-decoder.ts'
import { cutAtMarks } from './spoken-segments.ts'
import { stopWhen } from './stop-when.ts'
import type { SpeechModel, TextTokenizer, TransformersModule } from './transformers-module.ts'
import type { ImportedTransformers } from './transformers-package.ts'
import { WhisperFeatures } from './whisper-features.ts'

/** Seconds that the model hears at once. */
const WINDOW = 30
/** Tokens of one window; more is the model repeating itself. */
const MOST_TOKENS = 224
/** Below this loudness nothing is said; models hear words even in silence. */
const SILENCE = 1e-4

interface SpeechParts {
  module: TransformersModule
  tokenizer: TextTokenizer
  features: WhisperFeatures
  model: SpeechModel
  sound: SoundDecoder
}

/** Speech to text with Whisper: window after window, each segment told as soon as it was heard. */
export class TranscriptionWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #parts: SpeechParts

  static async load(
    plan: LoadPlan,
    { module, modules }: ImportedTransformers,
    clock: Clock,
  ): Promise<TranscriptionWork> {
    const folder = plan.facts.path ?? ''
    if (plan.facts.onnx?.modelType !== 'whisper') throw otherSpeechModel(plan)
    const tokenizer = await module.AutoTokenizer.from_pretrained(folder)
    const features = await WhisperFeatures.load(module, folder, clock)
    const model = await module.AutoModelForSpeechSeq2Seq.from_pretrained(folder, loadOptions(plan))
    const sound = await SoundDecoder.load(modules)
    return new TranscriptionWork(plan, { module, tokenizer, features, model, sound })
  }

  private constructor(plan: LoadPlan, parts: SpeechParts) {
    this.#plan = plan
    this.#parts = parts
  }

  /** @throws ModelyardError `unsupported` for a language or a translation that the model does not have */
  prepare(task: Task): Work {
    requireTask(task, this.#plan)
    const asked = task as TranscriptionTask
    this.#requireLanguage(asked)
    return (isOver) => this.#transcribe(asked, isOver)
  }

  /** Sound has no tokens. */
  countTokens(task: Task): number {
    requireTask(task, this.#plan)
    return 0
  }

  async warmUp(): Promise<void> {
    await this.#hear(
      new Float32Array(SAMPLE_RATE),
      this.#beginning('en', { kind: 'transcription', audio: new Uint8Array() }),
      0,
      1,
    )
  }

  async dispose(): Promise<void> {
    await this.#parts.model.dispose()
  }

  async *#transcribe(
    task: TranscriptionTask,
    isOver: () => boolean,
  ): AsyncGenerator<Part, Partial<Usage> | undefined, void> {
    const samples = await this.#parts.sound.decode(task.audio)
    if (isOver()) return undefined
    const language = task.language ?? (await this.#languageOf(samples, isOver))
    if (isOver()) return undefined
    const seconds = samples.length / SAMPLE_RATE
    yield { type: 'started', promptTokens: 0, cachedTokens: 0 }
    yield { type: 'sound', seconds, language }
    let completionTokens = 0
    for (let from = 0; from < samples.length && !isOver();) {
      const window = samples.subarray(from, from + WINDOW * SAMPLE_RATE)
      const heard = isSilent(window)
        ? []
        : await this.#hear(
            window,
            this.#beginning(language, task),
            task.temperature ?? 0,
            MOST_TOKENS,
            isOver,
          )
      completionTokens += heard.length
      const isLast = from + window.length >= samples.length
      const { segments, next } = cutAtMarks(heard, this.#firstMark, window.length / SAMPLE_RATE, isLast)
      const offset = from / SAMPLE_RATE
      for (const { start, end, tokens } of segments) {
        const text = this.#parts.tokenizer.decode(tokens, { skip_special_tokens: true })
        if (text.trim() !== '') yield { type: 'segment', start: offset + start, end: offset + end, text }
      }
      from += Math.max(1, Math.round(next * SAMPLE_RATE))
    }
    return { completionTokens }
  }

  /** The tokens that follow the beginning, without those that end the text. */
  async #hear(
    samples: Float32Array,
    beginning: readonly number[],
    temperature: number,
    mostTokens: number,
    isOver: () => boolean = () => false,
  ): Promise<number[]> {
    const { model, module, features } = this.#parts
    const inputs = await features.of(samples, isOver)
    if (inputs === undefined) return []
    const output = await model.generate({
      inputs,
      decoder_input_ids: [...beginning],
      return_timestamps: true,
      max_new_tokens: mostTokens,
      ...(temperature > 0 && { do_sample: true, temperature, top_k: 0 }),
      stopping_criteria: stopWhen(module, isOver),
    })
    const tokens = Array.from(output.data as BigInt64Array, Number).slice(beginning.length)
    return tokens.filter((token) => token !== model.generation_config.eos_token_id)
  }

  get #firstMark(): number {
    return this.#parts.model.generation_config.no_timestamps_token_id + 1
  }

  /** What came before, what is to be done, and in which language: the tokens before the first one of the text. */
  #beginning(language: string, { prompt = '', translate = false }: TranscriptionTask): number[] {
    const { generation_config: settings } = this.#parts.model
    const start = settings.decoder_start_token_id
    const before = this.#promptTokens(prompt)
    if (settings.is_multilingual !== true) return [...before, start]
    const spoken = settings.lang_to_id?.[`<|${language}|>`]
    const task = settings.task_to_id?.[translate ? 'translate' : 'transcribe']
    return [...before, start, ...[spoken, task].filter((token) => token !== undefined)]
  }

  #promptTokens(prompt: string): number[] {
    const { tokenizer, model } = this.#parts
    const { prev_sot_token_id: mark } = model.generation_config
    if (prompt.trim() === '' || mark === undefined) return []
    const options = { add_special_tokens: false, truncation: false, return_tensor: false } as const
    const { input_ids: tokens } = tokenizer(` ${prompt.trim()}`, options)
    return [mark, ...tokens.slice(-(MOST_TOKENS - 1))]
  }

  /** The language that the model hears in the first window. */
  async #languageOf(samples: Float32Array, isOver: () => boolean): Promise<string> {
    const { model, features } = this.#parts
    const {
      lang_to_id: languages,
      decoder_start_token_id: start,
      is_multilingual: isMultilingual,
    } = model.generation_config
    if (isMultilingual !== true || languages === undefined) return 'en'
    const inputs = await features.of(samples.subarray(0, WINDOW * SAMPLE_RATE), isOver)
    if (inputs === undefined) return 'en'
    const output = await model.generate({ inputs, decoder_input_ids: [start], max_new_tokens: 1 })
    const token = Number(output.data.at(-1))
    const name = Object.entries(languages).find(([, id]) => id === token)?.[0]
    return name?.replace(/[<|>]/g, '') ?? 'en'
  }

  #requireLanguage({ language, translate = false }: TranscriptionTask): void {
    const { is_multilingual: isMultilingual, lang_to_id: languages = {} } =
      this.#parts.model.generation_config
    const { model } = this.#plan
    if (isMultilingual !== true) {
      if (translate) throw unsupported(model, 'it cannot translate: it knows English only', 'model')
      if (language !== undefined && language !== 'en') {
        throw unsupported(model, `it knows English only, not "${language}"`, 'language')
      }
    } else if (language !== undefined && languages[`<|${language}|>`] === undefined) {
      throw unsupported(model, `it does not know the language "${language}"`, 'language')
    }
  }
}

function isSilent(samples: Float32Array): boolean {
  return samples.every((value) => Math.abs(value) < SILENCE)
}

function unsupported(model: string, why: string, param: string): ModelyardError {
  return new ModelyardError('unsupported', `Model "${model}" cannot do this: ${why}.`, { details: { param } })
}

function otherSpeechModel({ model, facts }: LoadPlan): ModelyardError {
  const kind = facts.onnx?.modelType ?? 'of an unknown kind'
  return new ModelyardError(
    'unsupported',
    `Model "${model}" is ${kind}; of speech models this engine runs Whisper only.`,
  )
}
