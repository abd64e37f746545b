import { contentText, type Message } from '../../tasks/message.ts'
import { asArray, invalidField } from '../fields.ts'

/**
 * `context` of `/api/generate`: the conversation so far as numbers that the client sends back with its next prompt. In Ollama they are
 * tokens of one model; here they are the turns themselves, so that they hold for every model and nothing needs to be remembered. Images
 * are not in it, as there.
 */

/** Begins every context of ours; the second number is the count of bytes. */
const MARK = 1_297_694_034
const BYTES_PER_NUMBER = 3

const ROLES = ['system', 'user', 'assistant'] as const

type Turn = [role: number, text: string]

/** Messages as numbers below 2³¹. Results of tools cannot be in a conversation of this route. */
export function encodeConversation(messages: readonly Message[]): number[] {
  const turns = messages.map(({ role, content }): Turn => [
    ROLES.indexOf(role as (typeof ROLES)[number]),
    contentText(content),
  ])
  const bytes = Buffer.from(JSON.stringify(turns), 'utf8')
  const numbers = [MARK, bytes.length]
  for (let at = 0; at < bytes.length; at += BYTES_PER_NUMBER) {
    numbers.push(((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0))
  }
  return numbers
}

/** The messages again. @throws invalid_request for numbers that are none of ours: another server's tokens mean nothing here */
export function decodeConversation(value: unknown): Message[] {
  const numbers = asArray(value, 'context')
  if (numbers.length === 0) return []
  const turns = turnsOf(bytesOf(numbers))
  if (turns === undefined) {
    throw invalidField(
      'context',
      `'context' is not one that this server gave; send back the numbers of an answer as they are, or leave it out.`,
    )
  }
  return turns.map(([role, content]) => ({ role: ROLES[role] ?? 'user', content }))
}

function bytesOf(numbers: unknown[]): Buffer | undefined {
  const [mark, length, ...rest] = numbers
  if (mark !== MARK || typeof length !== 'number' || rest.length !== Math.ceil(length / BYTES_PER_NUMBER)) {
    return undefined
  }
  const bytes = Buffer.alloc(rest.length * BYTES_PER_NUMBER)
  for (const [index, number] of rest.entries()) {
    if (!Number.isInteger(number) || Number(number) < 0 || Number(number) > 0xff_ff_ff) return undefined
    bytes.writeUIntBE(Number(number), index * BYTES_PER_NUMBER, BYTES_PER_NUMBER)
  }
  return bytes.subarray(0, length)
}

function turnsOf(bytes: Buffer | undefined): Turn[] | undefined {
  if (bytes === undefined) return undefined
  try {
    const turns = JSON.parse(bytes.toString('utf8')) as unknown
    return Array.isArray(turns) && turns.every(isTurn) ? turns : undefined
  } catch {
    return undefined
  }
}

function isTurn(value: unknown): value is Turn {
  const [role, text] = Array.isArray(value) ? (value as unknown[]) : []
  return typeof role === 'number' && ROLES[role] !== undefined && typeof text === 'string'
}
