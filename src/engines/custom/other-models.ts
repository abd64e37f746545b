import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { PartStream } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import type { AskingRun, AskModel, LoadPlan } from '../engine.ts'

/** A chat as far as it differs from the plainest one. */
export type ChatQuestion = Pick<ChatTask, 'messages'> & Partial<Omit<ChatTask, 'kind' | 'messages'>>

export interface OtherModelsParts {
  plan: LoadPlan
  ask: AskModel | undefined
  within: AskingRun | undefined
  signal: AbortSignal
}

/** The other models of the yard, as a run may ask them: before all who wait, and ended with it (P14). */
export class OtherModels {
  readonly #parts: OtherModelsParts

  constructor(parts: OtherModelsParts) {
    this.#parts = parts
  }

  /** Asks a model that `uses` names. @throws ModelyardError `config_invalid` for any other, `unsupported` where there is no yard; the model's own */
  run(model: string, task: Task): PartStream {
    const { plan, ask, within, signal } = this.#parts
    if (plan.uses?.includes(model) !== true) throw undeclared(plan, model)
    if (ask === undefined || within === undefined) throw alone(plan, model)
    return ask({ model, task, signal, within })
  }

  /** The pieces of a chat's answer: its text alone. */
  async *chat(model: string, question: ChatQuestion): AsyncGenerator<string, void, void> {
    const parts = this.run(model, { kind: 'chat', sampling: {}, stop: [], ...question })
    for await (const part of parts) if (part.type === 'text') yield part.text
  }
}

function undeclared({ model, engine }: LoadPlan, asked: string): ModelyardError {
  return new ModelyardError(
    'config_invalid',
    `Model "${model}" asks for "${asked}", which its engine "${engine}" does not name in "uses"; add it there.`,
  )
}

function alone({ model }: LoadPlan, asked: string): ModelyardError {
  return new ModelyardError(
    'unsupported',
    `Model "${model}" asks for "${asked}", but runs outside of a yard.`,
  )
}
