import { ModelyardError } from '../../base/errors.ts'
import type { EmbeddingInput } from '../../tasks/embedding-task.ts'
import type { LoadPlan } from '../engine.ts'
import { requireText } from '../task-checks.ts'
import { loadOptions } from './load-options.ts'
import { encodeText, feeds } from './text-tokens.ts'
import type { Encoder, Tensor, TextTokenizer, TransformersModule } from './transformers-module.ts'
import { transformersOptions } from './transformers-options.ts'

/** Texts to vectors, each evaluated alone: in a batch, the eight-bit ones change with their neighbours. */
export class TextVectors {
  readonly #plan: LoadPlan
  readonly #module: TransformersModule
  readonly #tokenizer: TextTokenizer
  readonly #model: Encoder

  /** @param graph which of the folder's, where it is not `model` */
  static async load(plan: LoadPlan, module: TransformersModule, graph?: string): Promise<TextVectors> {
    const folder = plan.facts.path ?? ''
    const tokenizer = await module.AutoTokenizer.from_pretrained(folder)
    const model = await module.AutoModel.from_pretrained(folder, loadOptions(plan, graph))
    return new TextVectors(plan, module, tokenizer, model)
  }

  private constructor(plan: LoadPlan, module: TransformersModule, tokenizer: TextTokenizer, model: Encoder) {
    this.#plan = plan
    this.#module = module
    this.#tokenizer = tokenizer
    this.#model = model
  }

  /** @param index its place among the inputs, for errors @param field that they name, where it is none of the inputs @throws ModelyardError `context_length_exceeded`, `unsupported` */
  tokensOf(input: EmbeddingInput, index: number, field?: string): number[] {
    const text = requireText(input, index, this.#plan)
    if (typeof text !== 'string') throw unsupportedTokens(this.#plan, index)
    return encodeText(this.#plan, this.#tokenizer, text, index, field).input_ids
  }

  /** One row, of any length. */
  async vectorOf(tokens: readonly number[]): Promise<Tensor> {
    const inputs = feeds(this.#module, { input_ids: this.#filledUp(tokens) })
    return this.#pool(await this.#model(inputs), inputs['attention_mask'] as Tensor)
  }

  async dispose(): Promise<void> {
    await this.#model.dispose()
  }

  /** SigLIP was trained with texts of one length, and its vector is that of the last place. */
  #filledUp(tokens: readonly number[]): number[] {
    const { facts, contextSize } = this.#plan
    const { pad_token_id: nothing } = this.#tokenizer
    if (facts.onnx?.modelType !== 'siglip' || typeof nothing !== 'number') return [...tokens]
    return Array.from({ length: contextSize }, (_, index) => tokens[index] ?? nothing)
  }

  #pool(outputs: Record<string, Tensor | undefined>, mask: Tensor): Tensor {
    const whole = outputs['sentence_embedding'] ?? outputs['text_embeds']
    if (whole !== undefined) return whole
    const { facts, spec } = this.#plan
    const pooled = outputs['pooler_output']
    if (facts.onnx?.modelType === 'siglip' && pooled !== undefined) return pooled
    const states = outputs['last_hidden_state'] ?? outputs['token_embeddings']
    if (states === undefined) throw withoutStates(outputs)
    const { pooling = 'mean' } = transformersOptions(spec)
    return pooling === 'cls' ? states.slice(null, 0) : this.#module.mean_pooling(states, mask)
  }
}

/** A graph that has nothing to make a vector of. */
export function withoutStates(outputs: object): ModelyardError {
  const names = Object.keys(outputs).join(', ')
  return new ModelyardError('engine_failed', `The model's graph gives no hidden states, only ${names}.`)
}

function unsupportedTokens({ model }: LoadPlan, index: number): ModelyardError {
  return new ModelyardError('unsupported', `Model "${model}" takes texts, not token ids.`, {
    details: { param: `input[${index}]`, feature: 'token-input' },
  })
}
