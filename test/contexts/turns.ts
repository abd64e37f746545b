import { join } from 'node:path'
import type { Message } from '../../src/tasks/message.ts'
import type { Yard } from '../../src/yard.ts'
import { HAS_SERVER } from '../llama-server/fixtures.ts'
import { HAS_LLAMA, user } from '../yard/harness.ts'

/** Engines that write and read slots, those that can be started here. */
export const PARKING_ENGINES: ('node-llama-cpp' | 'llama-server')[] = [
  ...(HAS_LLAMA ? (['node-llama-cpp'] as const) : []),
  ...(HAS_SERVER ? (['llama-server'] as const) : []),
]

export interface Turn {
  text: string
  cached: number
  prompt: number
}

/** One turn of a conversation at temperature 0. */
export async function ask(yard: Yard, model: string, messages: Message[], cache?: 'none'): Promise<Turn> {
  const request = {
    model,
    messages,
    temperature: 0,
    maxTokens: 12,
    ...(cache === undefined ? {} : { cache }),
  }
  const { text, result } = await yard.chat(request).answer()
  return { text, cached: result.usage.cachedTokens, prompt: result.usage.promptTokens }
}

/** A conversation that no other name has. */
export const begin = (name: string, times = 8): Message[] => [
  user(`${name} ${'the model and the server '.repeat(times)}`),
]

export const goOn = (messages: Message[], answer: string): Message[] => [
  ...messages,
  { role: 'assistant', content: answer },
  user('and the user'),
]

export const contextsFolder = (home: string): string => join(home, 'contexts')
