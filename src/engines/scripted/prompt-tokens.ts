import { createHash } from 'node:crypto'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { ContentPart, Message } from '../../tasks/message.ts'

/**
 * A word of a text, or a mark of the format. Marks are numbers, so that no user's text is ever taken for one (P15). Token ids given
 * by a client are words too.
 */
export type PromptToken = string | number

const ROLE_MARK: Record<Message['role'], number> = { system: 0, user: 1, assistant: 2, tool: 3 }
const END_MARK = 4
const TOOLS_MARK = 5

export function words(text: string): string[] {
  return text.match(/\S+/g) ?? []
}

function pushWords(tokens: PromptToken[], text: string): void {
  // Not by spreading: a text may have more words than a call can have arguments.
  for (const word of words(text)) tokens.push(word)
}

function pushContent(tokens: PromptToken[], content: string | readonly ContentPart[]): void {
  if (typeof content === 'string') {
    pushWords(tokens, content)
    return
  }
  for (const part of content) {
    if (part.type === 'text') pushWords(tokens, part.text)
    else tokens.push(`${part.type}:${createHash('sha256').update(part.data).digest('base64url')}`)
  }
}

function pushMessage(tokens: PromptToken[], message: Message): void {
  tokens.push(ROLE_MARK[message.role])
  pushContent(tokens, message.content)
  if (message.role !== 'assistant') return
  for (const call of message.toolCalls ?? []) {
    tokens.push(call.name)
    pushWords(tokens, call.arguments)
  }
}

/** What this engine sees of a chat: marks and words. A last assistant message stays open, to be continued. */
function chatTokens(task: ChatTask): PromptToken[] {
  const tokens: PromptToken[] = []
  if (task.tools !== undefined && task.tools.length > 0) {
    tokens.push(TOOLS_MARK)
    pushWords(tokens, JSON.stringify(task.tools))
    tokens.push(END_MARK)
  }
  for (const message of task.messages) {
    pushMessage(tokens, message)
    tokens.push(END_MARK)
  }
  if (task.messages.at(-1)?.role === 'assistant') tokens.pop()
  else tokens.push(ROLE_MARK.assistant)
  return tokens
}

/** The prompt as tokens; their number is this engine's exact count. */
export function tokensOfPrompt(task: ChatTask | CompletionTask): PromptToken[] {
  if (task.kind === 'chat') return chatTokens(task)
  if (typeof task.prompt !== 'string') return task.prompt.map(String)
  if (task.suffix === undefined) return words(task.prompt)
  const tokens: PromptToken[] = words(task.prompt)
  tokens.push(END_MARK)
  pushWords(tokens, task.suffix)
  return tokens
}

/** The tokens as people read them: words with spaces, marks left out. */
export function tokensText(tokens: readonly PromptToken[]): string {
  return tokens.filter((token) => typeof token === 'string').join(' ')
}

/** Number of leading tokens that agree. */
export function sharedTokens(a: readonly PromptToken[], b: readonly PromptToken[]): number {
  let shared = 0
  while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared++
  return shared
}

/** The answer as it will stand in the next turn's prompt. */
export function answerTokens(text: string): PromptToken[] {
  const tokens: PromptToken[] = words(text)
  tokens.push(END_MARK)
  return tokens
}
