import { ModelyardError } from '../../base/errors.ts'
import type { ClassificationTask } from '../../tasks/classification-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import { EmbeddingWork, unitVector } from './embedding-work.ts'
import { imagesOf } from './image-classification-work.ts'
import type { ImageVectors } from './image-vectors.ts'
import { ranked, shares, type LabelScore } from './label-scores.ts'
import { labelSentences } from './label-sentences.ts'
import type { TextVectors } from './text-vectors.ts'

/** The sentence of the transformers library. */
const HYPOTHESIS = 'This is a photo of {}.'

/** What CLIP's cosines are multiplied with before they are weighed: its training ends at this bound. It lies in a graph that is not loaded. */
const SCALE = 100

interface LabelTask extends ClassificationTask {
  labels: string[]
}

/** Texts and images in one space (CLIP, SigLIP): vectors of both; and with CLIP images are told apart by labels of the asker's own. */
export class SharedSpaceWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #texts: TextVectors
  readonly #images: ImageVectors
  readonly #embedding: EmbeddingWork

  constructor(
    plan: LoadPlan,
    { texts, images, embedding }: { texts: TextVectors; images: ImageVectors; embedding: EmbeddingWork },
  ) {
    this.#plan = plan
    this.#texts = texts
    this.#images = images
    this.#embedding = embedding
  }

  /** @throws ModelyardError for labels that are missing or cannot be judged alone, and for texts that are to be told apart */
  prepare(task: Task): Work {
    if (task.kind !== 'classification') return this.#embedding.prepare(task)
    const asked = this.#labelTask(task)
    const images = imagesOf(asked, this.#plan)
    return (isOver) => this.#classify(asked, images, isOver)
  }

  countTokens(task: Task): number {
    if (task.kind !== 'classification') return this.#embedding.countTokens(task)
    return lengthOf(this.#sentences(this.#labelTask(task)))
  }

  async warmUp(): Promise<void> {
    await this.#embedding.warmUp()
  }

  async dispose(): Promise<void> {
    await this.#embedding.dispose()
  }

  #labelTask(task: ClassificationTask): LabelTask {
    requireTask(task, this.#plan)
    const { labels, multiple = false } = task
    if (labels === undefined) throw withoutLabels(this.#plan)
    if (multiple) throw togetherOnly(this.#plan)
    return { ...task, labels }
  }

  /** In tokens. @throws ModelyardError `context_length_exceeded` naming the label or the hypothesis */
  #sentences(task: LabelTask): number[][] {
    return labelSentences(task, HYPOTHESIS, (text, index, field) => this.#texts.tokensOf(text, index, field))
  }

  async *#classify(
    task: LabelTask,
    images: readonly Uint8Array[],
    isOver: () => boolean,
  ): AsyncGenerator<Part, undefined, void> {
    const sentences = this.#sentences(task)
    const wanted: Float32Array[] = []
    for (const tokens of sentences) {
      if (isOver()) return undefined
      wanted.push(unitVector(await this.#texts.vectorOf(tokens)))
    }
    const results: LabelScore[][] = []
    for (const [index, bytes] of images.entries()) {
      if (isOver()) return undefined
      const seen = unitVector(await this.#images.vectorOf(bytes, `input[${index}]`))
      results.push(ranked(task.labels, shares(wanted.map((vector) => SCALE * cosine(vector, seen)))))
    }
    // Not before: any of the images may turn out to be none.
    yield { type: 'started', promptTokens: lengthOf(sentences), cachedTokens: 0 }
    for (const [index, labels] of results.entries()) {
      for (const label of labels) yield { type: 'label', index, ...label }
    }
    return undefined
  }
}

/** Of vectors of length 1. */
function cosine(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0)
}

function lengthOf(sentences: readonly number[][]): number {
  return sentences.reduce((sum, tokens) => sum + tokens.length, 0)
}

function withoutLabels({ model }: LoadPlan): ModelyardError {
  const message = `Model "${model}" has no labels of its own; send those that its images are to be told apart by.`
  return new ModelyardError('invalid_request', message, { details: { param: 'labels' } })
}

function togetherOnly({ model }: LoadPlan): ModelyardError {
  const message = `Model "${model}" weighs labels against each other; it cannot judge each alone. Leave 'multiple' out.`
  return new ModelyardError('unsupported', message, { details: { param: 'multiple' } })
}
