import { ModelyardError } from '../../base/errors.ts'
import type { ClassificationTask } from '../../tasks/classification-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import { ImageInputs } from './image-inputs.ts'
import type { LabelScore } from './label-scores.ts'
import { loadOptions } from './load-options.ts'
import type { Classifier, DecodedImage } from './transformers-module.ts'
import type { ImportedTransformers } from './transformers-package.ts'
import { logitsOf, trainedLabels } from './trained-labels.ts'

/** Images to the labels that the model was trained for, each looked at alone. */
export class ImageClassificationWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #inputs: ImageInputs
  readonly #model: Classifier

  static async load(plan: LoadPlan, imported: ImportedTransformers): Promise<ImageClassificationWork> {
    const { AutoModelForImageClassification } = imported.module
    const folder = plan.facts.path ?? ''
    const inputs = await ImageInputs.load(imported, folder)
    const model = await AutoModelForImageClassification.from_pretrained(folder, loadOptions(plan))
    return new ImageClassificationWork(plan, inputs, model)
  }

  private constructor(plan: LoadPlan, inputs: ImageInputs, model: Classifier) {
    this.#plan = plan
    this.#inputs = inputs
    this.#model = model
  }

  /** @throws ModelyardError `unsupported` for texts; what is no image is told by the work itself */
  prepare(task: Task): Work {
    requireTask(task, this.#plan)
    const images = imagesOf(task as ClassificationTask, this.#plan)
    return (isOver) => this.#classify(images, isOver)
  }

  /** Images have no tokens. */
  countTokens(task: Task): number {
    requireTask(task, this.#plan)
    return 0
  }

  async warmUp(): Promise<void> {
    await this.#labelsOf(this.#inputs.blank)
  }

  async dispose(): Promise<void> {
    await this.#model.dispose()
  }

  async *#classify(
    images: readonly Uint8Array[],
    isOver: () => boolean,
  ): AsyncGenerator<Part, undefined, void> {
    const results: LabelScore[][] = []
    for (const [index, bytes] of images.entries()) {
      const image = await this.#inputs.decode(bytes, `input[${index}]`)
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
    const outputs = await this.#model(await this.#inputs.feeds(image))
    return trainedLabels(this.#plan, this.#model, logitsOf(outputs))
  }
}

/** @throws ModelyardError `unsupported` for texts */
export function imagesOf({ inputs }: ClassificationTask, plan: LoadPlan): Uint8Array[] {
  return inputs.map((input, index) => {
    if (typeof input === 'string') throw imagesOnly(plan, index)
    return input
  })
}

function imagesOnly({ model }: LoadPlan, index: number): ModelyardError {
  return new ModelyardError('unsupported', `Model "${model}" takes images, not texts.`, {
    details: { param: `input[${index}]` },
  })
}
