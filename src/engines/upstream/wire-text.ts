import { isMap } from '../../base/is-map.ts'

/** What stands where an answer's text does. */
export interface ToldText {
  text: string | undefined
  reasoning: string
}

/** A text, or Mistral's list of blocks: `{type: text, text}`, and `{type: thinking, thinking: […]}`. @throws TypeError for anything else */
export function toldText(said: unknown): ToldText {
  if (said === undefined || said === null) return { text: undefined, reasoning: '' }
  if (!Array.isArray(said)) return { text: textOf(said), reasoning: '' }
  const blocks = said as unknown[]
  return { text: joined(blocks, 'text'), reasoning: joined(blocks, 'thinking') }
}

function joined(blocks: readonly unknown[], type: 'text' | 'thinking'): string {
  const told = blocks.map((block) => (isMap(block) ? block : notText()))
  return told.map((block) => (block['type'] === type ? blockText(block[type]) : '')).join('')
}

function blockText(said: unknown): string {
  return Array.isArray(said) ? joined(said as unknown[], 'text') : textOf(said)
}

/** @throws TypeError for what is no text, unless it can be written as one */
export function textOf(value: unknown, written: (value: object) => string = notText): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? written(value) : notText()
}

function notText(): never {
  throw new TypeError('no text')
}
