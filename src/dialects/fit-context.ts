import { ModelyardError } from '../base/errors.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { Message } from '../tasks/message.ts'
import type { Task } from '../tasks/task.ts'
import { invalidField } from './fields.ts'
import type { YardPort } from './yard-port.ts'

/** Who is asked, for which model. */
export interface ContextQuestion {
  port: YardPort
  model: string
  signal: AbortSignal
}

/** Tokens per slot. Known from the model's files where they are here; else the model is loaded, as the run would do anyway. */
async function contextLengthOf({ port, model, signal }: ContextQuestion): Promise<number> {
  const { contextLength } = await port.findModel(model)
  const known = contextLength ?? (await port.collection?.describe(model))?.contextLength
  if (known !== undefined && known !== null) return known
  await port.loadModel(model, { signal })
  return (await port.findModel(model)).contextLength ?? Number.POSITIVE_INFINITY
}

/**
 * `num_ctx` of a model that is made of another one: both share what is in memory, so that more than that has is refused.
 * @throws invalid_request with both numbers
 */
export async function requireContext(
  wanted: number,
  question: ContextQuestion,
  param = 'options.num_ctx',
): Promise<void> {
  const length = await contextLengthOf(question)
  if (wanted <= length) return
  throw invalidField(
    param,
    `'${param}' asks for ${wanted} tokens, but the model has a context of ${length} here; give it more in the configuration.`,
  )
}

/** Exact tokens of a task, those of one that is too long too. */
async function tokensOf(task: Task, { port, model, signal }: ContextQuestion): Promise<number> {
  try {
    return await port.countTokens(model, task, signal)
  } catch (error) {
    const known = error instanceof ModelyardError && error.code === 'context_length_exceeded'
    const tokens = known ? error.details['promptTokens'] : undefined
    if (typeof tokens !== 'number') throw error
    return tokens
  }
}

/** The largest number from `least` to `most` for which `fits` is true; `least` when none is. `fits` turns false once. */
async function largestThatFits(
  least: number,
  most: number,
  fits: (value: number) => Promise<boolean>,
): Promise<number> {
  let [low, high] = [least, most]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (await fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

/**
 * `truncate` of a conversation that is too long: its oldest turns go, the system's messages and the last question stay (E5).
 * @returns the messages that fit and how many went. When not even the last question fits, nothing goes: the run says by how much
 */
export async function fitConversation(
  task: ChatTask,
  question: ContextQuestion,
): Promise<{ messages: Message[]; dropped: number }> {
  const all = task.messages
  const tokens = await tokensOf(task, question)
  const length = await contextLengthOf(question)
  if (tokens < length) return { messages: all, dropped: 0 }
  const starts = turnStarts(all)
  const fits = async (kept: number): Promise<boolean> =>
    (await tokensOf({ ...task, messages: lastTurns(all, starts, kept) }, question)) < length
  if (!(await fits(1))) return { messages: all, dropped: 0 }
  const messages = lastTurns(all, starts, await largestThatFits(1, starts.length, fits))
  return { messages, dropped: all.length - messages.length }
}

/** Where turns begin: with what the user says. */
function turnStarts(messages: readonly Message[]): number[] {
  const starts = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
  return starts.length === 0 ? [0] : starts
}

function lastTurns(messages: readonly Message[], starts: readonly number[], kept: number): Message[] {
  const start = starts.at(-kept) ?? 0
  return messages.filter(({ role }, index) => role === 'system' || index >= start)
}

/** No token of a text is shorter than a byte; a few more begin and end it. */
const BORDERS = 8

/** `truncate` of texts for embedding: what is too long loses its end. @returns the texts and which of them are cut */
export async function fitInputs(
  inputs: readonly string[],
  question: ContextQuestion,
): Promise<{ inputs: string[]; cut: number[] }> {
  const length = await contextLengthOf(question)
  const fitted: string[] = []
  const cut: number[] = []
  for (const [index, input] of inputs.entries()) {
    const text =
      Buffer.byteLength(input) + BORDERS <= length ? input : await fitInput(input, length, question)
    if (text !== input) cut.push(index)
    fitted.push(text)
  }
  return { inputs: fitted, cut }
}

async function fitInput(input: string, length: number, question: ContextQuestion): Promise<string> {
  const fits = async (text: string): Promise<boolean> =>
    (await tokensOf({ kind: 'embedding', inputs: [text] }, question)) < length
  if (await fits(input)) return input
  const characters = Array.from(input)
  const kept = await largestThatFits(1, characters.length, async (count) =>
    fits(characters.slice(0, count).join('')),
  )
  return characters.slice(0, kept).join('')
}
