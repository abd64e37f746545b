import type { LoadPlan } from '../engine.ts'
import { ImageInputs } from './image-inputs.ts'
import { loadOptions } from './load-options.ts'
import { withoutStates } from './text-vectors.ts'
import type { Encoder, Tensor, TransformersModule } from './transformers-module.ts'
import { transformersOptions } from './transformers-options.ts'
import type { ImportedTransformers } from './transformers-package.ts'

/** Images to vectors, each evaluated alone. */
export class ImageVectors {
  readonly #plan: LoadPlan
  readonly #module: TransformersModule
  readonly #inputs: ImageInputs
  readonly #model: Encoder

  /** @param graph which of the folder's, where it is not `model` */
  static async load(plan: LoadPlan, imported: ImportedTransformers, graph?: string): Promise<ImageVectors> {
    const { module } = imported
    const folder = plan.facts.path ?? ''
    const inputs = await ImageInputs.load(imported, folder)
    const model = await module.AutoModel.from_pretrained(folder, loadOptions(plan, graph))
    return new ImageVectors(plan, module, inputs, model)
  }

  private constructor(plan: LoadPlan, module: TransformersModule, inputs: ImageInputs, model: Encoder) {
    this.#plan = plan
    this.#module = module
    this.#inputs = inputs
    this.#model = model
  }

  /** One row. @param param the field it came in @throws ModelyardError `invalid_request` for what is no image, damaged or too large */
  async vectorOf(bytes: Uint8Array, param: string): Promise<Tensor> {
    return this.#vectorOf(await this.#inputs.decode(bytes, param))
  }

  /** Of an image with nothing on it. */
  async vectorOfNothing(): Promise<Tensor> {
    return this.#vectorOf(this.#inputs.blank)
  }

  async dispose(): Promise<void> {
    await this.#model.dispose()
  }

  async #vectorOf(image: ImageInputs['blank']): Promise<Tensor> {
    const outputs = await this.#model(await this.#inputs.feeds(image))
    const whole = outputs['image_embeds']
    if (whole !== undefined) return whole
    const pooled = outputs['pooler_output']
    if (this.#plan.facts.onnx?.modelType === 'siglip' && pooled !== undefined) return pooled
    const states = outputs['last_hidden_state']
    if (states === undefined) throw withoutStates(outputs)
    return this.#pool(states)
  }

  /** The first place stands for the whole image in all models of this kind; the poolers of some were never trained. */
  #pool(states: Tensor): Tensor {
    const { pooling = 'cls' } = transformersOptions(this.#plan.spec)
    if (pooling === 'cls') return states.slice(null, 0)
    const [, length = 0] = states.dims
    const all = new this.#module.Tensor('int64', new BigInt64Array(length).fill(1n), [1, length])
    return this.#module.mean_pooling(states, all)
  }
}
