import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { ChatTemplate } from '../../templates/chat-template.ts'
import type { LoadPlan } from '../engine.ts'
import { renderChat, type AnswerForm } from '../llama-cpp/rendered-chat.ts'
import { requireTextWithin } from '../llama-cpp/require-text-within.ts'
import type { Vocabulary } from './vocabulary.ts'

/** What the model reads before it writes. */
export interface Prompt extends AnswerForm {
  tokens: number[]
  /** Text that the answer begins with. */
  echo?: string
}

/** What prompts are made with; one for a loaded model. */
export interface PromptMaker {
  plan: LoadPlan
  vocabulary: Vocabulary
  template: ChatTemplate
}

/** @throws ModelyardError `invalid_request`, `unsupported` */
export function promptOf(task: ChatTask | CompletionTask, maker: PromptMaker): Prompt {
  return task.kind === 'chat' ? chatPrompt(task, maker) : completionPrompt(task, maker)
}

function chatPrompt(task: ChatTask, { plan, vocabulary, template }: PromptMaker): Prompt {
  const { longestToken } = vocabulary
  const { pieces, ...form } = renderChat(task, { plan, template, longestToken })
  return { tokens: vocabulary.tokenizePrompt(pieces), ...form }
}

/**
 * A prompt that its sender rendered himself: control tokens in it are meant as such, as in every other server; only the texts around
 * a gap are nothing but text.
 */
function completionPrompt(task: CompletionTask, { plan, vocabulary }: PromptMaker): Prompt {
  const { prompt, suffix, echo = false } = task
  if (typeof prompt !== 'string') {
    vocabulary.requireTokens(prompt, 'prompt')
    if (suffix !== undefined && suffix !== '') throw noSuffix()
    const text = Buffer.concat(prompt.map((token) => vocabulary.bytesOf(token))).toString('utf8')
    return finished([...prompt], vocabulary, echo ? text : undefined)
  }
  requireTextWithin(plan.contextSize, vocabulary, [prompt, suffix ?? ''])
  // Nothing after a gap is nothing to a model that knows of none: some clients always send the field.
  const isPlain = suffix === undefined || (suffix === '' && !vocabulary.fillsGaps)
  const tokens = isPlain ? vocabulary.tokenizePrompt([prompt]) : vocabulary.infillPrompt(prompt, suffix)
  return finished(tokens, vocabulary, echo ? prompt : undefined)
}

function noSuffix(): ModelyardError {
  const message = 'A prompt of token ids cannot have a suffix; send both as text.'
  return new ModelyardError('invalid_request', message, { details: { param: 'suffix' } })
}

function finished(tokens: number[], vocabulary: Vocabulary, echo: string | undefined): Prompt {
  const begun = tokens.length > 0 ? tokens : vocabulary.emptyPrompt()
  if (begun.length === 0) {
    throw new ModelyardError(
      'invalid_request',
      'The prompt is empty and this model has no token to begin with.',
      {
        details: { param: 'prompt' },
      },
    )
  }
  return { tokens: begun, stops: [], ...(echo !== undefined && { echo }) }
}
