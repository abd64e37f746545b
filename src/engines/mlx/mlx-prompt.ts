import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { ChatTemplate } from '../../templates/chat-template.ts'
import type { LoadPlan } from '../engine.ts'
import { renderChat, type AnswerForm } from '../llama-cpp/rendered-chat.ts'
import { requireTextWithin } from '../llama-cpp/require-text-within.ts'
import type { MlxVocabulary } from './mlx-vocabulary.ts'

/** What the model reads before it writes. */
export interface MlxPrompt extends AnswerForm {
  tokens: number[]
  /** Text that the answer begins with. */
  echo?: string
}

/** What prompts are made with; one for a loaded model. */
export interface MlxPromptMaker {
  plan: LoadPlan
  vocabulary: MlxVocabulary
  template: ChatTemplate
}

/** @throws ModelyardError `invalid_request`, `unsupported`, `context_length_exceeded` for what cannot fit however it is tokenised */
export async function mlxPromptOf(
  task: ChatTask | CompletionTask,
  { plan, vocabulary, template }: MlxPromptMaker,
  signal: AbortSignal,
): Promise<MlxPrompt> {
  if (task.kind === 'completion') return await completionPrompt(task, plan, vocabulary, signal)
  const { longestToken } = vocabulary
  const { pieces, ...form } = renderChat(task, { plan, template, longestToken })
  return { tokens: await vocabulary.tokensOf(pieces, false, signal), ...form }
}

/** A prompt that its sender rendered himself: control tokens in it are meant as such, as in every other server. */
async function completionPrompt(
  { prompt, suffix, echo = false }: CompletionTask,
  { contextSize }: LoadPlan,
  vocabulary: MlxVocabulary,
  signal: AbortSignal,
): Promise<MlxPrompt> {
  if (suffix !== undefined && suffix !== '') throw noSuffix()
  if (typeof prompt !== 'string') {
    vocabulary.requireTokens(prompt, 'prompt')
    const text = echo ? await vocabulary.textOf(prompt, signal) : undefined
    return finished([...prompt], text)
  }
  requireTextWithin(contextSize, vocabulary, [prompt])
  return finished(await vocabulary.tokensOf([prompt], true, signal), echo ? prompt : undefined)
}

function noSuffix(): ModelyardError {
  const message = 'The mlx engine fills no gaps; leave "suffix" out.'
  return new ModelyardError('unsupported', message, { details: { param: 'suffix' } })
}

function finished(tokens: number[], echo: string | undefined): MlxPrompt {
  if (tokens.length > 0) return { tokens, stops: [], ...(echo !== undefined && { echo }) }
  const message = 'The prompt is empty and this model has no token to begin with.'
  throw new ModelyardError('invalid_request', message, { details: { param: 'prompt' } })
}
