import type { Part } from '../tasks/part.ts'
import type { Answer, AnswerSummary } from './yard-client.ts'

/** Where the pieces of an answer go as they come. */
export interface AnswerListener {
  /** The first sign of life: the prompt is evaluated. */
  started?(): void | Promise<void>
  text(text: string): void | Promise<void>
  reasoning?(text: string): void | Promise<void>
}

export interface CalledTool {
  name: string
  arguments: string
}

/** An answer, whole. */
export interface ReadAnswer {
  text: string
  reasoning: string
  toolCalls: CalledTool[]
  summary: AnswerSummary
}

/** What came of an answer that did not reach its end. */
export class UnfinishedAnswer extends Error {
  readonly text: string

  constructor(text: string, cause: unknown) {
    super('The answer did not reach its end.', { cause })
    this.text = text
  }
}

/** Reads an answer to its end, telling the listener on the way. @throws UnfinishedAnswer with the text that came */
export async function listenTo(answer: Answer, listener: AnswerListener): Promise<ReadAnswer> {
  const read = { text: '', reasoning: '', toolCalls: [] as CalledTool[] }
  try {
    for (;;) {
      const step = await answer.next()
      if (step.done === true) return { ...read, summary: step.value }
      await take(step.value, read, listener)
    }
  } catch (error) {
    // Does nothing to an answer that has ended; one whose listener failed gives its slot back.
    await answer.return(undefined as never)
    throw new UnfinishedAnswer(read.text, error)
  }
}

async function take(part: Part, read: Omit<ReadAnswer, 'summary'>, listener: AnswerListener): Promise<void> {
  if (part.type === 'started') return await listener.started?.()
  if (part.type === 'text') {
    read.text += part.text
    return await listener.text(part.text)
  }
  if (part.type === 'reasoning') {
    read.reasoning += part.text
    return await listener.reasoning?.(part.text)
  }
  if (part.type === 'tool-call') read.toolCalls[part.index] = { name: part.name, arguments: '' }
  const called = part.type === 'tool-call-arguments' ? read.toolCalls[part.index] : undefined
  if (called !== undefined && part.type === 'tool-call-arguments') called.arguments += part.text
}
