import type { ModelyardError } from '../../base/errors.ts'
import { line } from './lines.ts'

/** Features in the words of this API; clients match on them. */
const WORDS: Record<string, string> = {
  reasoning: 'thinking',
  tools: 'tools',
  images: 'images',
  infill: 'insert',
}

/** `model 'x' not found` is what clients look for. */
function notFound({ message, details }: ModelyardError): string {
  const { model, nearest } = details
  if (typeof model !== 'string') return message
  const [near] = Array.isArray(nearest) ? (nearest as unknown[]) : []
  return `model '${model}' not found${typeof near === 'string' ? `; did you mean '${near}'?` : ''}`
}

/** Official clients look for "context" and "exceed" (BR-07). */
function contextExceeded({ message, details }: ModelyardError): string {
  const { promptTokens, contextSize, isLeast } = details
  if (typeof promptTokens !== 'number' || typeof contextSize !== 'number') {
    return `the input exceeds the context length: ${message}`
  }
  return (
    `the input has ${isLeast === true ? 'at least ' : ''}${promptTokens} tokens, which exceeds the model's maximum context length of ${contextSize} tokens; ` +
    'shorten it, or load the model with a larger context'
  )
}

function messageOf(error: ModelyardError): string {
  if (error.code === 'model_not_found') return notFound(error)
  if (error.code === 'context_length_exceeded') return contextExceeded(error)
  const { feature, model } = error.details
  const word = typeof feature === 'string' ? WORDS[feature] : undefined
  if (error.code !== 'unsupported' || word === undefined || typeof model !== 'string') return error.message
  return `"${model}" does not support ${word}`
}

/** `{error: "…"}` */
export function encodeError(error: ModelyardError): string {
  return JSON.stringify({ error: messageOf(error) })
}

/** The end of a broken stream: no line with `done` comes after it (BR-09). */
export function encodeErrorLine(error: ModelyardError): string {
  return line({ error: messageOf(error) })
}
