import { ModelyardError } from '../../base/errors.ts'
import type { ClassificationTask } from '../../tasks/classification-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import { ImageDecoder } from './image-decoder.ts'
import type { LabelScore } from './label-scores.ts'
import { loadOptions } from './load-options.ts'
import type { Classifier, DecodedImage, ImageProcessor } from './transformers-module.ts'
import type { ImportedTransformers } from './transformers-package.ts'
import { logitsOf, trainedLabels } from './trained-labels.ts'

interface Parts {
  images: ImageDecoder
  processor: ImageProcessor
  model: Classifier
  /** An image to warm up with. */
  blank: DecodedImage
}

/** Images to the labels that the model was trained for, each looked at alone. */
export class ImageClassificationWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #parts: Parts

  static async load(plan: LoadPlan, imported: ImportedTransformers): Promise<ImageClassificationWork> {
    const { module } = imported
    const folder = plan.facts.path ?? ''
    const processor = await module.AutoImageProcessor.from_pretrained(folder)
    const model = await module.AutoModelForImageClassification.from_pretrained(folder, loadOptions(plan))
    const images = await ImageDecoder.load(imported)
    const blank = new module.RawImage(new Uint8ClampedArray(64 * 64 * 3), 64, 64, 3)
    return new ImageClassificationWork(plan, { images, processor, model, blank })
  }

  private constructor(plan: LoadPlan, parts: Parts) {
    this.#plan = plan
    this.#parts = parts
  }

  /** @throws ModelyardError `unsupported` for texts; what is no image is told by the work itself */
  prepare(task: Task): Work {
    const images = this.#imagesOf(task)
    return (isOver) => this.#classify(images, isOver)
  }

  /** Images have no tokens. */
  countTokens(task: Task): number {
    this.#imagesOf(task)
    return 0
  }

  async warmUp(): Promise<void> {
    await this.#labelsOf(this.#parts.blank)
  }

  async dispose(): Promise<void> {
    await this.#parts.model.dispose()
  }

  #imagesOf(task: Task): Uint8Array[] {
    requireTask(task, this.#plan)
    return (task as ClassificationTask).inputs.map((input, index) => {
      if (typeof input === 'string') throw imagesOnly(this.#plan, index)
      return input
    })
  }

  async *#classify(
    images: readonly Uint8Array[],
    isOver: () => boolean,
  ): AsyncGenerator<Part, undefined, void> {
    const results: LabelScore[][] = []
    for (const [index, bytes] of images.entries()) {
      const image = await this.#parts.images.decode(bytes, `input[${index}]`)
      if (isOver()) return undefined
      results.push(await this.#labelsOf(image))
    }
    // Not before: any of the images may turn out to be none.
    yield { type: 'started', promptTokens: 0, cachedTokens: 0 }
    for (const [index, labels] of results.entries()) {
      for (const label of labels) yield { type: 'label', index, ...label }
    }
    return undefined
  }

  async #labelsOf(image: DecodedImage): Promise<LabelScore[]> {
    const { processor, model } = this.#parts
    const { pixel_values: pixels } = await processor([image])
    const outputs = await model({ ...(pixels !== undefined && { pixel_values: pixels }) })
    return trainedLabels(this.#plan, model, logitsOf(outputs))
  }
}

function imagesOnly({ model }: LoadPlan, index: number): ModelyardError {
  return new ModelyardError('unsupported', `Model "${model}" takes images, not texts.`, {
    details: { param: `input[${index}]` },
  })
}
