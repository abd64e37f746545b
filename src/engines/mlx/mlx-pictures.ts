import { ModelyardError } from '../../base/errors.ts'
import { IMAGE_FORMATS, imageFormatOf } from '../../tasks/image-format.ts'
import type { Message } from '../../tasks/message.ts'
import { requireWhole } from '../llama-cpp/image-places.ts'
import type { ServerConnection } from '../supervision/server-connection.ts'

/** What stands for an image in a prompt of this model. */
export interface WireImage {
  text: string
  /** Whether a prompt can have more than one. */
  several: boolean
}

/** A prompt with images as the worker takes it: one text, and the bytes as base64, in their order. */
export interface WirePictures {
  text: string
  images: readonly string[]
}

/** Stands for an image while the conversation is rendered; no model has a token of this. */
export const IMAGE_MARK = '\u{F8FF}an image\u{F8FF}'

/**
 * A rendered conversation with the images of its messages. @throws ModelyardError `unsupported` for several images where one is all that the
 * model takes, `invalid_request` for users' texts that look like control tokens or like an image
 */
export function picturesOf(
  pieces: readonly string[],
  images: readonly string[],
  image: WireImage,
): WirePictures {
  requireWhole(pieces)
  if (images.length > 1 && !image.several) throw onlyOne(images.length)
  const parts = pieces.join('').split(IMAGE_MARK)
  if (parts.length !== images.length + 1) throw leftOut()
  const token = image.text.trim()
  if (parts.some((part) => part.includes(token))) throw looksLikeOne()
  return { text: parts.join(image.text), images }
}

/** @throws ModelyardError `invalid_request` for bytes that are no image, by their beginning: nothing else is sent to the worker */
export function requireImages(messages: readonly Message[]): void {
  for (const [index, { content }] of messages.entries()) {
    if (typeof content === 'string') continue
    for (const part of content) {
      if (part.type === 'image' && imageFormatOf(part.data) === undefined) throw noImage(index)
    }
  }
}

/** What these tokens are, images among them. */
export async function pictureTokens(
  pictures: WirePictures,
  connection: ServerConnection,
  signal: AbortSignal,
): Promise<number[]> {
  return ((await connection.json('/images', pictures, signal)) as { ids: number[] }).ids
}

function noImage(index: number): ModelyardError {
  const message = `Message ${index} has an image that cannot be read; send ${IMAGE_FORMATS}.`
  return new ModelyardError('invalid_request', message, { details: { param: `messages[${index}].content` } })
}

function onlyOne(count: number): ModelyardError {
  const message = `This model takes one image in a conversation, and there are ${count}; leave the others out.`
  return new ModelyardError('unsupported', message, { details: { param: 'messages', feature: 'images' } })
}

function leftOut(): ModelyardError {
  const message =
    "The model's chat template leaves out a message with an image; put images into user messages."
  return new ModelyardError('unsupported', message, { details: { param: 'messages', feature: 'images' } })
}

function looksLikeOne(): ModelyardError {
  const message = 'A message has the text that stands for an image at this model; remove it.'
  return new ModelyardError('invalid_request', message, { details: { param: 'messages' } })
}
