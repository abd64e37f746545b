import type { Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { ClassificationTask } from '../../tasks/classification-task.ts'
import type { Part } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { LoadPlan } from '../engine.ts'
import type { WholeInputWork, Work } from '../in-process/queued-model.ts'
import { requireTask } from '../task-checks.ts'
import { judgementOf, ranked, zeroShotScores, type LabelScore } from './label-scores.ts'
import { labelSentences } from './label-sentences.ts'
import { loadOptions } from './load-options.ts'
import { encodeAll, encodePair, encodeText, feeds, type Sentence } from './text-tokens.ts'
import type { Classifier, EncodedText, TextTokenizer } from './transformers-module.ts'
import type { ImportedTransformers } from './transformers-package.ts'
import { logitsOf, trainedLabels } from './trained-labels.ts'

const HYPOTHESIS = 'This example is {}.'

/** An input in tokens: once, or once for each label's sentence. */
type Encoded = readonly EncodedText[]

/** Texts to labels: those that the model was trained for, or any, with models that judge what follows from a text. */
export class ClassificationWork implements WholeInputWork {
  readonly #plan: LoadPlan
  readonly #module: ImportedTransformers['module']
  readonly #tokenizer: TextTokenizer
  readonly #model: Classifier
  readonly #clock: Clock

  static async load(
    plan: LoadPlan,
    { module }: ImportedTransformers,
    clock: Clock,
  ): Promise<ClassificationWork> {
    const folder = plan.facts.path ?? ''
    const tokenizer = await module.AutoTokenizer.from_pretrained(folder)
    const model = await module.AutoModelForSequenceClassification.from_pretrained(folder, loadOptions(plan))
    return new ClassificationWork(plan, module, tokenizer, model, clock)
  }

  private constructor(
    plan: LoadPlan,
    module: ImportedTransformers['module'],
    tokenizer: TextTokenizer,
    model: Classifier,
    clock: Clock,
  ) {
    this.#plan = plan
    this.#module = module
    this.#tokenizer = tokenizer
    this.#model = model
    this.#clock = clock
  }

  /** @throws ModelyardError `unsupported` for labels that the model cannot take; texts that are too long are told by the work itself */
  prepare(task: Task): Work {
    const asked = this.#classificationOf(task)
    return (isOver) => this.#classify(asked, isOver)
  }

  countTokens(task: Task): number {
    const asked = this.#classificationOf(task)
    return lengthOf(asked.inputs.map(this.#encoder(asked)))
  }

  async warmUp(): Promise<void> {
    await this.#logitsOf(encodeText(this.#plan, this.#tokenizer, '1', 0))
  }

  async dispose(): Promise<void> {
    await this.#model.dispose()
  }

  #classificationOf(task: Task): ClassificationTask {
    requireTask(task, this.#plan)
    const asked = task as ClassificationTask
    if (asked.labels !== undefined && judgementOf(this.#labels) === undefined) throw ownLabelsOnly(this.#plan)
    return asked
  }

  get #labels(): readonly string[] {
    return this.#plan.facts.onnx?.labels ?? []
  }

  /** Of inputs. Sentences are cut into tokens once, so that one that is too long alone is told before any input. */
  #encoder(task: ClassificationTask): (input: string | Uint8Array, index: number) => Encoded {
    const sentences = this.#sentences(task)
    return (input, index) => {
      if (typeof input !== 'string') throw textsOnly(this.#plan, index)
      if (sentences === undefined) return [encodeText(this.#plan, this.#tokenizer, input, index)]
      return sentences.map((sentence) => encodePair(this.#plan, this.#tokenizer, input, index, sentence))
    }
  }

  #sentences(task: ClassificationTask): Sentence[] | undefined {
    const { labels } = task
    if (labels === undefined) return undefined
    return labelSentences({ ...task, labels }, HYPOTHESIS, (text, index, field) => {
      const { length } = encodeText(this.#plan, this.#tokenizer, text, index, field).input_ids
      return { text, length, field }
    })
  }

  async *#classify(task: ClassificationTask, isOver: () => boolean): AsyncGenerator<Part, undefined, void> {
    const inputs = await encodeAll(task.inputs, this.#encoder(task), this.#clock, isOver)
    if (isOver()) return undefined
    yield { type: 'started', promptTokens: lengthOf(inputs), cachedTokens: 0 }
    for (const [index, input] of inputs.entries()) {
      const answers: number[][] = []
      for (const text of input) {
        if (isOver()) return undefined
        answers.push(await this.#logitsOf(text))
      }
      for (const score of this.#scoresOf(task, answers)) yield { type: 'label', index, ...score }
    }
    return undefined
  }

  #scoresOf({ labels, multiple = false }: ClassificationTask, answers: readonly number[][]): LabelScore[] {
    const judgement = judgementOf(this.#labels)
    if (labels !== undefined && judgement !== undefined)
      return ranked(labels, zeroShotScores(answers, judgement, multiple))
    const [logits = []] = answers
    return trainedLabels(this.#plan, this.#model, logits)
  }

  async #logitsOf(text: EncodedText): Promise<number[]> {
    return logitsOf(await this.#model(feeds(this.#module, text)))
  }
}

function lengthOf(inputs: readonly Encoded[]): number {
  return inputs.flat().reduce((sum, { input_ids: tokens }) => sum + tokens.length, 0)
}

function ownLabelsOnly({ model, facts }: LoadPlan): ModelyardError {
  const known = facts.onnx?.labels.slice(0, 10).join(', ') ?? ''
  return new ModelyardError(
    'unsupported',
    `Model "${model}" knows its own labels only (${known}); leave labels out, or ask a model that was trained on entailment.`,
    { details: { param: 'labels', feature: 'zero-shot' } },
  )
}

function textsOnly({ model }: LoadPlan, index: number): ModelyardError {
  return new ModelyardError('unsupported', `Model "${model}" takes texts, not images.`, {
    details: { param: `input[${index}]`, feature: 'images' },
  })
}
