import type { Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { EmbeddingInput, EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import type { ImageVectors } from './image-vectors.ts'
import type { TextVectors } from './text-vectors.ts'
import { encodeAll } from './text-tokens.ts'
import type { Tensor } from './transformers-module.ts'

/** What vectors are made with: at least one of them is there; with both, texts and images lie in one space. */
export interface VectorSources {
  texts?: TextVectors
  images?: ImageVectors
}

/** A text in tokens, or an image's vector: images are evaluated as soon as they are read, so that no more than one is in memory. */
type Prepared = number[] | Tensor

/** Vectors of texts and images, of length 1. */
export class EmbeddingWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #sources: VectorSources
  readonly #clock: Clock
  /** Of its vectors; known after the first. */
  #dimensions: number | undefined

  constructor(plan: LoadPlan, sources: VectorSources, clock: Clock) {
    this.#plan = plan
    this.#sources = sources
    this.#clock = clock
  }

  /** @throws ModelyardError `unsupported` naming an input that the model does not take; what is too long or damaged is told by the work */
  prepare(task: Task): Work {
    requireTask(task, this.#plan)
    const asked = task as EmbeddingTask
    requireDimensions(asked.dimensions, this.#dimensions)
    asked.inputs.forEach((input, index) => this.#requireSource(input, index))
    return (isOver) => this.#embed(asked, isOver)
  }

  countTokens(task: Task): number {
    requireTask(task, this.#plan)
    const { inputs } = task as EmbeddingTask
    return lengthOf(inputs.map((input, index) => this.#tokensOf(input, index)))
  }

  async warmUp(): Promise<void> {
    const { texts, images } = this.#sources
    const vectors = [await texts?.vectorOf(texts.tokensOf('1', 0)), await images?.vectorOfNothing()]
    this.#dimensions = vectors.find((vector) => vector !== undefined)?.dims.at(-1)
  }

  async dispose(): Promise<void> {
    await this.#sources.texts?.dispose()
    await this.#sources.images?.dispose()
  }

  async *#embed(
    { inputs, dimensions }: EmbeddingTask,
    isOver: () => boolean,
  ): AsyncGenerator<Part, undefined, void> {
    const read = (input: EmbeddingInput, index: number): number[] => this.#tokensOf(input, index)
    const tokens = await encodeAll(inputs, read, this.#clock, isOver)
    const prepared: Prepared[] = []
    for (const [index, input] of inputs.entries()) {
      if (isOver()) return undefined
      prepared.push((await this.#imageVector(input, index)) ?? tokens[index] ?? [])
    }
    // Not before: any of the inputs may turn out to be too long, or no image.
    yield { type: 'started', promptTokens: lengthOf(tokens), cachedTokens: 0 }
    for (const [index, input] of prepared.entries()) {
      if (isOver()) return undefined
      yield { type: 'vector', index, vector: unitVector(await this.#vectorOf(input), dimensions) }
    }
    return undefined
  }

  /** Images have none. */
  #tokensOf(input: EmbeddingInput, index: number): number[] {
    if (input instanceof Uint8Array) return []
    return this.#sources.texts?.tokensOf(input, index) ?? []
  }

  async #imageVector(input: EmbeddingInput, index: number): Promise<Tensor | undefined> {
    if (!(input instanceof Uint8Array)) return undefined
    return await this.#sources.images?.vectorOf(input, `input[${index}]`)
  }

  async #vectorOf(input: Prepared): Promise<Tensor | undefined> {
    return Array.isArray(input) ? await this.#sources.texts?.vectorOf(input) : input
  }

  #requireSource(input: EmbeddingInput, index: number): void {
    const isImage = input instanceof Uint8Array
    const { texts, images } = this.#sources
    if ((isImage ? images : texts) !== undefined) return
    const [taken, given] = isImage ? ['texts', 'images'] : ['images', 'texts']
    throw new ModelyardError('unsupported', `Model "${this.#plan.model}" takes ${taken}, not ${given}.`, {
      details: { param: `input[${index}]` },
    })
  }
}

/** One row as a vector of length 1, of its first `dimensions` where so many are asked for. */
export function unitVector(row: Tensor | undefined, dimensions?: number): Float32Array {
  if (row === undefined) throw new ModelyardError('engine_failed', 'The model gave no vector.')
  const cut = dimensions === undefined ? row : row.slice(null, [0, dimensions])
  return Float32Array.from(cut.normalize(2, -1).data as Float32Array)
}

function lengthOf(inputs: readonly number[][]): number {
  return inputs.reduce((sum, tokens) => sum + tokens.length, 0)
}

function requireDimensions(asked: number | undefined, length: number | undefined): void {
  if (asked === undefined || length === undefined || (asked >= 1 && asked <= length)) return
  const message = `This model's vectors have ${length} dimensions; ask for 1 to ${length}, not ${asked}.`
  throw new ModelyardError('invalid_request', message, { details: { param: 'dimensions' } })
}
