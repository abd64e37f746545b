import type { CaptioningTask } from '../../tasks/captioning-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work, WorkEnd } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import { generatedTokens } from './generated-tokens.ts'
import { ImageInputs } from './image-inputs.ts'
import { loadOptions } from './load-options.ts'
import { stopWhen } from './stop-when.ts'
import type { CaptionModel, Tensor, TextTokenizer, TransformersModule } from './transformers-module.ts'
import type { ImportedTransformers } from './transformers-package.ts'
import { WrittenText } from './written-text.ts'

interface CaptionParts {
  module: TransformersModule
  inputs: ImageInputs
  tokenizer: TextTokenizer
  model: CaptionModel
}

/**
 * What is on an image, or written on it: encoders of images with decoders of text (ViT-GPT2, TrOCR, Donut without a prompt), always the
 * likeliest token, told as it comes.
 */
export class CaptioningWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #parts: CaptionParts
  /** Tokens that end a text. */
  readonly #ends: ReadonlySet<number>

  static async load(plan: LoadPlan, imported: ImportedTransformers): Promise<CaptioningWork> {
    const { module } = imported
    const folder = plan.facts.path ?? ''
    const inputs = await ImageInputs.load(imported, folder)
    const tokenizer = await module.AutoTokenizer.from_pretrained(folder)
    const model = await module.AutoModelForVision2Seq.from_pretrained(folder, loadOptions(plan))
    return new CaptioningWork(plan, { module, inputs, tokenizer, model })
  }

  private constructor(plan: LoadPlan, parts: CaptionParts) {
    this.#plan = plan
    this.#parts = parts
    this.#ends = endsOf(parts.model)
  }

  /** What is no image is told by the work itself. */
  prepare(task: Task): Work {
    requireTask(task, this.#plan)
    return (isOver) => this.#caption(task as CaptioningTask, isOver)
  }

  /** Images have no tokens. */
  countTokens(task: Task): number {
    requireTask(task, this.#plan)
    return 0
  }

  async warmUp(): Promise<void> {
    const pixels = await this.#pixelsOf(this.#parts.inputs.blank)
    for await (const token of this.#tokens(pixels, 1, () => false)) void token
  }

  async dispose(): Promise<void> {
    await this.#parts.model.dispose()
  }

  async *#caption(
    { image: bytes, maxTokens = this.#usualLength }: CaptioningTask,
    isOver: () => boolean,
  ): AsyncGenerator<Part, WorkEnd | undefined, void> {
    const image = await this.#parts.inputs.decode(bytes, 'image')
    if (isOver()) return undefined
    const pixels = await this.#pixelsOf(image)
    yield { type: 'started', promptTokens: 0, cachedTokens: 0 }
    const text = new WrittenText((tokens) => this.#decode(tokens))
    let completionTokens = 0
    let isEnded = false
    const most = Math.min(maxTokens, this.#mostTokens)
    for await (const token of this.#tokens(pixels, most, () => isEnded || isOver())) {
      isEnded = this.#ends.has(token)
      if (isEnded) break
      completionTokens++
      const piece = text.add(token)
      if (piece !== '') yield { type: 'text', text: piece }
    }
    return { completionTokens, finishReason: isEnded ? 'stop' : 'length' }
  }

  /** One place is the beginning's. */
  get #mostTokens(): number {
    return this.#plan.contextSize - 1
  }

  /** As its folder says; what the library takes where it says nothing is too short for a line of text. */
  get #usualLength(): number {
    const length = this.#parts.model.generation_config?.max_length ?? 0
    return length > 1 ? length - 1 : this.#mostTokens
  }

  async #pixelsOf(image: ImageInputs['blank']): Promise<Tensor> {
    const { pixel_values: pixels } = await this.#parts.inputs.feeds(image)
    return pixels
  }

  async *#tokens(pixels: Tensor, most: number, isOver: () => boolean): AsyncGenerator<number, void, void> {
    if (most === 0) return
    const { module, model } = this.#parts
    yield* generatedTokens((onToken) =>
      model.generate({
        inputs: pixels,
        max_new_tokens: most,
        do_sample: false,
        num_beams: 1,
        stopping_criteria: stopWhen(module, isOver, onToken),
      }),
    )
  }

  #decode(tokens: readonly number[]): string {
    return this.#parts.tokenizer.decode([...tokens], {
      skip_special_tokens: true,
      clean_up_tokenization_spaces: false,
    })
  }
}

/** Where the library looks for them, the first that says it. */
function endsOf({ config, generation_config: settings }: CaptionModel): Set<number> {
  const ends = settings?.eos_token_id ?? config.decoder?.eos_token_id ?? config.eos_token_id ?? []
  return new Set(typeof ends === 'number' ? [ends] : ends)
}
