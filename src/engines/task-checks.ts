import { ModelyardError } from '../base/errors.ts'
import type { EmbeddingInput } from '../tasks/embedding-task.ts'
import type { Task } from '../tasks/task.ts'
import type { LoadPlan } from './engine.ts'

/** @throws ModelyardError `unsupported` for a kind of task that this model cannot do */
export function requireTask(task: Task, plan: LoadPlan): void {
  if (plan.capabilities.tasks.includes(task.kind)) return
  throw new ModelyardError('unsupported', `Model "${plan.model}" cannot do ${task.kind} tasks.`, {
    details: { param: 'model', task: task.kind },
  })
}

/** For models that read texts alone. @param index its place among the inputs @throws ModelyardError `unsupported` for an image */
export function requireText(input: EmbeddingInput, index: number, { model }: LoadPlan): string | number[] {
  if (!(input instanceof Uint8Array)) return input
  throw new ModelyardError('unsupported', `Model "${model}" takes texts, not images.`, {
    details: { param: `input[${index}]`, feature: 'images' },
  })
}

/** Which field is too long where a query and a document are, together: the query, if it alone leaves room for no document. */
export function longPairField(queryTokens: number, contextSize: number, index: number): string {
  return queryTokens >= contextSize ? 'query' : `documents[${index}]`
}

/** The prompt must leave room for one token (BR-07). @throws ModelyardError `context_length_exceeded` with both numbers */
export function requireRoom(promptTokens: number, contextSize: number, param?: string): void {
  if (promptTokens < contextSize) return
  const message =
    `The maximum context length is ${contextSize} tokens, prompt and answer together, but the prompt alone has ${promptTokens}; ` +
    'shorten it, or load the model with a larger context.'
  const details = { promptTokens, contextSize, ...(param !== undefined && { param }) }
  throw new ModelyardError('context_length_exceeded', message, { details })
}
