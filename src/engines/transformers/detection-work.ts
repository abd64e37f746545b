import { ModelyardError } from '../../base/errors.ts'
import type { DetectionTask, ImageBox } from '../../tasks/detection-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import type { ImageSize } from './image-decoder.ts'
import { ImageInputs } from './image-inputs.ts'
import { labelOf, likeliestFirst, type LabelScore } from './label-scores.ts'
import { loadOptions } from './load-options.ts'
import type { DecodedImage, Encoder } from './transformers-module.ts'
import type { ImportedTransformers } from './transformers-package.ts'

const THRESHOLD = 0.5

interface Found extends LabelScore {
  box: ImageBox
}

/** Things on an image, the likeliest first: DETR, RT-DETR, YOLOS and what else has their outputs. */
export class DetectionWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #inputs: ImageInputs
  readonly #model: Encoder

  /** @throws ModelyardError `unsupported` for a model whose outputs are not understood */
  static async load(plan: LoadPlan, imported: ImportedTransformers): Promise<DetectionWork> {
    const folder = plan.facts.path ?? ''
    const inputs = await ImageInputs.load(imported, folder)
    if (inputs.processor.post_process_object_detection === undefined) throw otherDetector(plan)
    const { AutoModelForObjectDetection } = imported.module
    return new DetectionWork(
      plan,
      inputs,
      await AutoModelForObjectDetection.from_pretrained(folder, loadOptions(plan)),
    )
  }

  private constructor(plan: LoadPlan, inputs: ImageInputs, model: Encoder) {
    this.#plan = plan
    this.#inputs = inputs
    this.#model = model
  }

  /** What is no image is told by the work itself. */
  prepare(task: Task): Work {
    requireTask(task, this.#plan)
    return (isOver) => this.#detect(task as DetectionTask, isOver)
  }

  /** Images have no tokens. */
  countTokens(task: Task): number {
    requireTask(task, this.#plan)
    return 0
  }

  async warmUp(): Promise<void> {
    await this.#find(this.#inputs.blank, this.#inputs.blank, THRESHOLD)
  }

  async dispose(): Promise<void> {
    await this.#model.dispose()
  }

  async *#detect(
    { image: bytes, threshold = THRESHOLD }: DetectionTask,
    isOver: () => boolean,
  ): AsyncGenerator<Part, undefined, void> {
    const size = await this.#inputs.sizeOf(bytes, 'image')
    const image = await this.#inputs.decode(bytes, 'image')
    if (isOver()) return undefined
    yield { type: 'started', promptTokens: 0, cachedTokens: 0 }
    for (const found of await this.#find(image, size, threshold)) yield { type: 'object', ...found }
    return undefined
  }

  /** @param size pixels that boxes are told in */
  async #find(image: DecodedImage, size: ImageSize, threshold: number): Promise<Found[]> {
    const outputs = await this.#model(await this.#inputs.feeds(image))
    const { width, height } = size
    const [found] =
      this.#inputs.processor.post_process_object_detection?.(outputs, threshold, [[height, width]]) ?? []
    if (found === undefined) return []
    const labels = this.#plan.facts.onnx?.labels ?? []
    return found.scores
      .map((score, index) => ({
        label: labelOf(labels, found.classes[index] ?? -1),
        score,
        box: boxWithin(found.boxes[index] ?? [], size),
      }))
      .sort(likeliestFirst)
  }
}

/** Models place corners outside of the picture, too. */
function boxWithin(corners: ArrayLike<number>, { width, height }: ImageSize): ImageBox {
  const [left = 0, top = 0, right = 0, bottom = 0] = Array.from(corners)
  const within = (value: number, most: number): number => Math.min(Math.max(value, 0), most)
  return {
    left: within(left, width),
    top: within(top, height),
    right: within(right, width),
    bottom: within(bottom, height),
  }
}

function otherDetector({ model, facts }: LoadPlan): ModelyardError {
  const kind = facts.onnx?.modelType ?? 'of an unknown kind'
  return new ModelyardError(
    'unsupported',
    `Model "${model}" is ${kind}; of models that detect this engine runs DETR, RT-DETR and YOLOS.`,
  )
}
