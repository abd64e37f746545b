import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { ChatTemplate } from '../../templates/chat-template.ts'
import type { LoadPlan } from '../engine.ts'
import { requireWhole, withImagePlaces } from '../llama-cpp/image-places.ts'
import { renderChat, type AnswerForm } from '../llama-cpp/rendered-chat.ts'
import { requireTextWithin } from '../llama-cpp/require-text-within.ts'
import type { Vocabulary, WirePrompt } from './vocabulary.ts'

/** What the model reads before it writes. */
export interface Prompt extends AnswerForm {
  content: WirePrompt | { prompt_string: string; multimodal_data: string[] }
  /** Text that the answer begins with. */
  echo?: string
}

/** What prompts are made with; one for a loaded model. */
export interface PromptMaker {
  plan: LoadPlan
  vocabulary: Vocabulary
  template: ChatTemplate
  /** Stands for an image in a text; undefined = the server sees none. */
  imageMark: string | undefined
}

/** @throws ModelyardError `invalid_request`, `unsupported`, `context_length_exceeded` */
export async function promptOf(task: ChatTask | CompletionTask, maker: PromptMaker): Promise<Prompt> {
  return task.kind === 'chat' ? await chatPrompt(task, maker) : await completionPrompt(task, maker)
}

const BLIND = 'it was loaded without a projector (option mmproj)'

async function chatPrompt(task: ChatTask, maker: PromptMaker): Promise<Prompt> {
  const { plan, vocabulary, template, imageMark } = maker
  const { messages, images } = withImagePlaces(task.messages, imageMark, BLIND)
  const rendering = { plan, template, longestToken: vocabulary.longestToken }
  const { pieces, ...form } = renderChat({ ...task, messages }, rendering)
  if (images.length === 0) return { content: await vocabulary.promptOf(pieces), ...form }
  requireWhole(pieces)
  return { content: { prompt_string: vocabulary.textOf(pieces), multimodal_data: images }, ...form }
}

/**
 * A prompt that its sender rendered himself: control tokens in it are meant as such, as in every other server; only the texts around
 * a gap are nothing but text.
 */
async function completionPrompt(task: CompletionTask, maker: PromptMaker): Promise<Prompt> {
  const { prompt, suffix, echo = false } = task
  const { plan, vocabulary } = maker
  if (typeof prompt !== 'string') {
    vocabulary.requireTokens(prompt, 'prompt')
    if (suffix !== undefined && suffix !== '') throw noSuffix()
    return finished([...prompt], vocabulary, echo ? await vocabulary.textOfTokens(prompt) : undefined)
  }
  requireTextWithin(plan.contextSize, vocabulary, [prompt, suffix ?? ''])
  // Nothing after a gap is nothing to a model that knows of none: some clients always send the field.
  const isPlain = suffix === undefined || (suffix === '' && !vocabulary.fillsGaps)
  const content = isPlain
    ? await vocabulary.promptOf([prompt])
    : await vocabulary.infillPrompt(prompt, suffix)
  return finished(content, vocabulary, echo ? prompt : undefined)
}

function noSuffix(): ModelyardError {
  const message = 'A prompt of token ids cannot have a suffix; send both as text.'
  return new ModelyardError('invalid_request', message, { details: { param: 'suffix' } })
}

function finished(content: WirePrompt, { firstToken }: Vocabulary, echo: string | undefined): Prompt {
  const begun = content.length > 0 ? content : firstToken === undefined ? [] : [firstToken]
  if (begun.length > 0) return { content: begun, stops: [], ...(echo !== undefined && { echo }) }
  const message = 'The prompt is empty and this model has no token to begin with.'
  throw new ModelyardError('invalid_request', message, { details: { param: 'prompt' } })
}
