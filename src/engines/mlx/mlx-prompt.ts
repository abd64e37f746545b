import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { ChatTemplate } from '../../templates/chat-template.ts'
import type { LoadPlan } from '../engine.ts'
import { withImagePlaces } from '../llama-cpp/image-places.ts'
import { renderChat, type AnswerForm } from '../llama-cpp/rendered-chat.ts'
import { requireTextWithin } from '../llama-cpp/require-text-within.ts'
import type { ServerConnection } from '../supervision/server-connection.ts'
import {
  IMAGE_MARK,
  picturesOf,
  pictureTokens,
  requireImages,
  type WireImage,
  type WirePictures,
} from './mlx-pictures.ts'
import type { MlxVocabulary } from './mlx-vocabulary.ts'

/** What the model reads before it writes. */
export interface MlxPrompt extends AnswerForm {
  /** Images among them. */
  tokens: number[]
  /** What the images are, where there are some. */
  pictures?: WirePictures
  /** Text that the answer begins with. */
  echo?: string
}

/** What prompts are made with; one for a loaded model. */
export interface MlxPromptMaker {
  plan: LoadPlan
  vocabulary: MlxVocabulary
  template: ChatTemplate
  connection: ServerConnection
  /** What stands for an image; undefined = it sees none. */
  image: WireImage | undefined
}

/** @throws ModelyardError `invalid_request`, `unsupported`, `context_length_exceeded` for what cannot fit however it is tokenised */
export async function mlxPromptOf(
  task: ChatTask | CompletionTask,
  maker: MlxPromptMaker,
  signal: AbortSignal,
): Promise<MlxPrompt> {
  const { plan, vocabulary } = maker
  if (task.kind === 'completion') return await completionPrompt(task, plan, vocabulary, signal)
  return await chatPrompt(task, maker, signal)
}

async function chatPrompt(task: ChatTask, maker: MlxPromptMaker, signal: AbortSignal): Promise<MlxPrompt> {
  const { plan, vocabulary, template, connection, image } = maker
  const mark = image === undefined ? undefined : IMAGE_MARK
  const { messages, images } = withImagePlaces(task.messages, mark, blindness(plan))
  const { longestToken } = vocabulary
  const { pieces, ...form } = renderChat({ ...task, messages }, { plan, template, longestToken })
  if (images.length === 0 || image === undefined)
    return { tokens: await vocabulary.tokensOf(pieces, false, signal), ...form }
  requireImages(task.messages)
  const pictures = picturesOf(pieces, images, image)
  return { tokens: await pictureTokens(pictures, connection, signal), pictures, ...form }
}

function blindness({ capabilities }: LoadPlan): string {
  return capabilities.images ? 'mlx_vlm knows no text that stands for one' : 'it reads text alone'
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
