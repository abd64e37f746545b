import { ModelyardError } from '../../base/errors.ts'
import { contentText, type ContentPart, type Message } from '../../tasks/message.ts'

/** The messages with a mark in the place of each image, and the images in the same order, as base64. */
export interface MarkedMessages {
  messages: Message[]
  images: string[]
}

/**
 * @param mark what stands for an image in the prompt; undefined = the worker sees none @param blindness why not, for people
 * @throws ModelyardError `unsupported` for images where the worker sees none, `invalid_request` for texts that hold the mark itself
 */
export function withImagePlaces(
  messages: readonly Message[],
  mark: string | undefined,
  blindness: string,
): MarkedMessages {
  const images: string[] = []
  if (!messages.some(({ content }) => hasImage(content))) return { messages: [...messages], images }
  if (mark === undefined) throw seesNothing(blindness)
  if (messages.some(({ content }) => contentText(content).includes(mark))) throw holdsMark()
  const marked = messages.map((message) => {
    if (typeof message.content === 'string') return message
    const content = message.content.map((part): ContentPart => {
      if (part.type !== 'image') return part
      images.push(Buffer.from(part.data).toString('base64'))
      return { type: 'text', text: mark }
    })
    return { ...message, content }
  })
  return { messages: marked, images }
}

function hasImage(content: Message['content']): boolean {
  return typeof content !== 'string' && content.some(({ type }) => type === 'image')
}

function seesNothing(blindness: string): ModelyardError {
  const message = `This model sees no images: ${blindness}.`
  return new ModelyardError('unsupported', message, { details: { param: 'messages' } })
}

function holdsMark(): ModelyardError {
  const message = 'A message has the text that stands for an image at the engine; remove it.'
  return new ModelyardError('invalid_request', message, { details: { param: 'messages' } })
}

/**
 * A prompt with images is taken as one text, in which what users wrote like control tokens would count as such (P15).
 * @throws ModelyardError `invalid_request` when there is something of that kind
 */
export function requireWhole(pieces: readonly string[]): void {
  if (pieces.length < 2) return
  const message =
    "A message has the text of one of this model's control tokens, which cannot be sent together with images; remove it."
  throw new ModelyardError('invalid_request', message, { details: { param: 'messages' } })
}
