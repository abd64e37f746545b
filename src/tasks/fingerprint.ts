import { createHash, hash } from 'node:crypto'
import type { ChatTask } from './chat-task.ts'
import type { CompletionTask } from './completion-task.ts'
import { contentText, type ContentPart, type Message } from './message.ts'
import type { Task } from './task.ts'

/** Hash of one block chained to all before it, and the size of the text up to its end (in UTF-16 units, a stand-in for tokens). */
export interface FingerprintBlock {
  hash: string
  end: number
}

/**
 * The beginning of a request as a chain of block hashes, computed without the model. Two chains that agree in block n agree in
 * all before it. It only guides placement: the engine compares the real tokens (R3, F11).
 */
export type Fingerprint = readonly FingerprintBlock[]

const BLOCK_SIZE = 1024

function blockHash(previous: string, text: string): string {
  return hash('sha256', `${previous}\0${text}`, 'base64url').slice(0, 22)
}

function append(chain: FingerprintBlock[], text: string): void {
  for (let start = 0; start === 0 || start < text.length; start += BLOCK_SIZE) {
    const last = chain.at(-1)
    const piece = text.slice(start, start + BLOCK_SIZE)
    chain.push({ hash: blockHash(last?.hash ?? '', piece), end: (last?.end ?? 0) + piece.length })
  }
}

function partIdentity(part: ContentPart): string {
  if (part.type === 'text') return part.text
  return `${part.type}:${createHash('sha256').update(part.data).digest('base64url')}`
}

/** A message so that different messages never look alike: the role first, every field separated and named. */
function messageIdentity(message: Message): string {
  const content =
    typeof message.content === 'string' ? message.content : message.content.map(partIdentity).join('\u0001')
  const calls =
    message.role === 'assistant'
      ? JSON.stringify(message.toolCalls?.map((call) => [call.name, call.arguments]) ?? [])
      : ''
  return `${message.role}\u0002${content}\u0002${calls}`
}

function chatFingerprint(task: ChatTask): FingerprintBlock[] {
  const chain: FingerprintBlock[] = []
  const frame = [task.tools ?? [], task.templateOptions ?? {}]
  if (task.tools !== undefined || task.templateOptions !== undefined) append(chain, JSON.stringify(frame))
  for (const message of task.messages) append(chain, messageIdentity(message))
  return chain
}

function completionFingerprint(task: CompletionTask): FingerprintBlock[] {
  const chain: FingerprintBlock[] = []
  append(chain, typeof task.prompt === 'string' ? task.prompt : task.prompt.join(','))
  return chain
}

/** The chain of a task's beginning; empty for tasks that leave nothing reusable in a slot. */
export function fingerprintOf(task: Task): Fingerprint {
  if (task.kind === 'chat') return chatFingerprint(task)
  return task.kind === 'completion' ? completionFingerprint(task) : []
}

/** The chain after the model's answer was added: what the slot holds when the run has ended, as the next turn will send it. */
export function fingerprintWithAnswer(
  chain: Fingerprint,
  answer: Message & { role: 'assistant' },
): Fingerprint {
  const longer = [...chain]
  append(longer, messageIdentity({ ...answer, content: contentText(answer.content) }))
  return longer
}

/**
 * What longer texts can share of a beginning: texts are cut into blocks of 1,024 characters, of which the last is another one as soon as the text
 * goes on. Messages end where they end.
 */
export function sharedBeginning(task: Task): Fingerprint {
  const chain = fingerprintOf(task)
  return task.kind === 'completion'
    ? chain.filter(({ end }, index) => end === (index + 1) * BLOCK_SIZE)
    : chain
}

/** Number of leading blocks two chains share. */
export function sharedBlocks(a: Fingerprint, b: Fingerprint): number {
  let count = 0
  while (count < a.length && count < b.length && a[count]?.hash === b[count]?.hash) count++
  return count
}
