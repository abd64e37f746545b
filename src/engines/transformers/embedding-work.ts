import type { Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { stepwise } from '../in-process/stepwise-work.ts'
import { requireTask } from '../task-checks.ts'
import { loadOptions } from './load-options.ts'
import { encodeAll, encodeText, feeds } from './text-tokens.ts'
import type { Encoder, Tensor, TextTokenizer, TransformersModule } from './transformers-module.ts'
import { transformersOptions } from './transformers-options.ts'

/** Vectors of texts, each evaluated alone: in a batch, the eight-bit ones change with their neighbours. */
export class EmbeddingWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #module: TransformersModule
  readonly #tokenizer: TextTokenizer
  readonly #model: Encoder
  readonly #clock: Clock
  /** Of its vectors; known after the first. */
  #dimensions: number | undefined

  static async load(plan: LoadPlan, module: TransformersModule, clock: Clock): Promise<EmbeddingWork> {
    const folder = plan.facts.path ?? ''
    const tokenizer = await module.AutoTokenizer.from_pretrained(folder)
    const model = await module.AutoModel.from_pretrained(folder, loadOptions(plan))
    const work = new EmbeddingWork(plan, module, clock, tokenizer, model)
    await work.warmUp()
    return work
  }

  private constructor(
    plan: LoadPlan,
    module: TransformersModule,
    clock: Clock,
    tokenizer: TextTokenizer,
    model: Encoder,
  ) {
    this.#plan = plan
    this.#module = module
    this.#clock = clock
    this.#tokenizer = tokenizer
    this.#model = model
  }

  /** @throws context_length_exceeded naming the input */
  prepare(task: Task): Work {
    const { inputs, dimensions } = this.#embeddingOf(task)
    requireDimensions(dimensions, this.#dimensions)
    return async function* work(this: EmbeddingWork, isOver: () => boolean) {
      const read = (input: string | number[], index: number): number[] => this.#tokensOf(input, index)
      const tokens = await encodeAll(inputs, read, this.#clock, isOver)
      if (isOver()) return undefined
      const steps = tokens.map((ids, index) => async (): Promise<Part> => {
        return { type: 'vector', index, vector: await this.#vectorOf(ids, dimensions) }
      })
      return yield* stepwise(lengthOf(tokens), steps)(isOver)
    }.bind(this)
  }

  countTokens(task: Task): number {
    return lengthOf(this.#embeddingOf(task).inputs.map((input, index) => this.#tokensOf(input, index)))
  }

  async warmUp(): Promise<void> {
    const { length } = await this.#vectorOf(this.#tokensOf('1', 0), undefined)
    this.#dimensions = length
  }

  async dispose(): Promise<void> {
    await this.#model.dispose()
  }

  #embeddingOf(task: Task): EmbeddingTask {
    requireTask(task, this.#plan)
    return task as EmbeddingTask
  }

  #tokensOf(input: string | number[], index: number): number[] {
    if (typeof input !== 'string') throw unsupportedTokens(this.#plan, index)
    return encodeText(this.#plan, this.#tokenizer, input, index).input_ids
  }

  async #vectorOf(tokens: readonly number[], dimensions: number | undefined): Promise<Float32Array> {
    const inputs = feeds(this.#module, { input_ids: [...tokens] })
    const pooled = this.#pool(await this.#model(inputs), inputs['attention_mask'] as Tensor)
    const cut = dimensions === undefined ? pooled : pooled.slice(null, [0, dimensions])
    return Float32Array.from(cut.normalize(2, -1).data as Float32Array)
  }

  #pool(outputs: Record<string, Tensor | undefined>, mask: Tensor): Tensor {
    if (outputs['sentence_embedding'] !== undefined) return outputs['sentence_embedding']
    const states = outputs['last_hidden_state'] ?? outputs['token_embeddings']
    if (states === undefined) {
      const names = Object.keys(outputs).join(', ')
      throw new ModelyardError('engine_failed', `The model's graph gives no hidden states, only ${names}.`)
    }
    const { pooling = 'mean' } = transformersOptions(this.#plan.spec)
    return pooling === 'cls' ? states.slice(null, 0) : this.#module.mean_pooling(states, mask)
  }
}

function lengthOf(inputs: readonly number[][]): number {
  return inputs.reduce((sum, tokens) => sum + tokens.length, 0)
}

function requireDimensions(asked: number | undefined, length: number | undefined): void {
  if (asked === undefined || length === undefined || (asked >= 1 && asked <= length)) return
  const message = `This model's vectors have ${length} dimensions; ask for 1 to ${length}, not ${asked}.`
  throw new ModelyardError('invalid_request', message, { details: { param: 'dimensions' } })
}

function unsupportedTokens({ model }: LoadPlan, index: number): ModelyardError {
  return new ModelyardError('unsupported', `Model "${model}" takes texts, not token ids.`, {
    details: { param: `input[${index}]`, feature: 'token-input' },
  })
}
