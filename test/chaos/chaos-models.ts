import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TokenLogprob } from '../../src/tasks/part.ts'
import type { Message } from '../../src/tasks/message.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { ask, chat, load } from '../node-llama-cpp/fixtures.ts'

/** Tokens of an answer. The noise of these models depends on their whole context: a foreign token in it changes the text. */
export const LENGTH = 24

/** Two candidates this near to one another (in nats) may change places with the company a token is computed in. */
const NEAR = 0.05

/** A request and what a context that has seen nothing else answers to it. */
export interface Question {
  model: string
  messages: Message[]
  /** A word that no other conversation has. */
  secret: string
  expected: string
  /** Its answers begin with what the slot held of this conversation. */
  isScripted: boolean
  /** Characters up to the end of each token, and how much better it was than the next candidate, in nats. */
  tokens: { end: number; margin: number }[]
}

/** Entries of the configuration, and the weights behind them; scripted models have none. */
export interface ChaosModels {
  entries: Record<string, object>
  files: Record<string, string>
}

/** Six models of different footprints: the trained one under several names, contexts and slots, two generated ones, one scripted. */
export async function chaosModels(folder: string): Promise<ChaosModels> {
  const files: Record<string, string> = {}
  for (const name of ['small', 'wide', 'long']) {
    files[name] = join(folder, `${name}.gguf`)
    await copyFile(TINY_CHAT, files[name])
  }
  for (const [name, layers, seed] of [
    ['deep', 12, 7],
    ['deeper', 24, 8],
  ] as const) {
    files[name] = join(folder, `${name}.gguf`)
    makeTinyModel(files[name], { dimension: 128, layers, seed, context: 8192 })
  }
  const entry = (name: string, context: number, slots: number): object => ({
    file: files[name],
    context,
    slots,
    keepAlive: -1,
  })
  const entries = {
    small: entry('small', 512, 2),
    wide: entry('wide', 1024, 6),
    long: entry('long', 8192, 4),
    deep: entry('deep', 2048, 4),
    deeper: entry('deeper', 4096, 2),
    scripted: {
      engine: 'scripted',
      isolation: 'worker',
      memory: '90MiB',
      slots: 3,
      keepAlive: -1,
      // It tells what its slot held besides this conversation: nothing, if all is well.
      script: [{ text: 'a b c d e f g h', delay: 15, echo: 'slot' }],
    },
  }
  return { entries, files }
}

function secretOf(model: string, index: number): string {
  return `${model}-${(index * 7919 + 104_729).toString(36)}`
}

/** The conversations with real models share a beginning, as those of one application do; of the scripted ones no slot is to hold two. */
function opening(secret: string, isScripted: boolean): Message[] {
  const system: Message = { role: 'system', content: 'Answer in one short sentence. '.repeat(6) }
  return [...(isScripted ? [] : [system]), { role: 'user', content: `My word is ${secret}. Say it.` }]
}

/** Conversations of two turns on each model, answered one after the other in a context of their own. */
export async function questionsOf(
  { entries, files }: ChaosModels,
  conversations: number,
): Promise<Question[]> {
  const questions: Question[] = []
  for (const model of Object.keys(entries)) {
    const file = files[model]
    const isScripted = file === undefined
    const answer = isScripted ? scriptedAnswer : await freshAnswers(file)
    for (let index = 0; index < conversations; index++) {
      const secret = secretOf(model, index)
      const begun = opening(secret, isScripted)
      const first = await answer.ask(begun)
      const again: Message[] = [
        ...begun,
        { role: 'assistant', content: first.expected },
        { role: 'user', content: 'What was my word?' },
      ]
      questions.push({ model, secret, isScripted, messages: begun, ...first })
      questions.push({ model, secret, isScripted, messages: again, ...(await answer.ask(again)) })
    }
    await answer.close()
  }
  return questions
}

type Expected = Pick<Question, 'expected' | 'tokens'>

interface Answers {
  ask: (messages: Message[]) => Promise<Expected>
  close: () => Promise<void>
}

const scriptedAnswer: Answers = {
  ask: async () => ({ expected: 'a b c d e f g h', tokens: [] }),
  close: async () => undefined,
}

/** Nothing is kept from one question to the next. */
async function freshAnswers(file: string): Promise<Answers> {
  const model = await load(file, { context: 2048 })
  return {
    ask: async (messages) => {
      const { parts, text } = await ask(model, chat(messages, { maxTokens: LENGTH, topLogprobs: 2 }))
      const logprobs = parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []))
      return { expected: text, tokens: tokensOf(logprobs) }
    },
    close: async () => model.unload(),
  }
}

function tokensOf(logprobs: readonly TokenLogprob[]): Question['tokens'] {
  const decoder = new TextDecoder()
  let end = 0
  return logprobs.map(({ bytes, top: [best, second] }) => {
    // A token may be a part of a character: the text grows when the character is whole.
    end += decoder.decode(Uint8Array.from(bytes), { stream: true }).length
    return { end, margin: (best?.logprob ?? 0) - (second?.logprob ?? Number.NEGATIVE_INFINITY) }
  })
}

/** What a text that differs from the expected one is: another choice between two that were nearly as good, or wrong. */
export function judge(question: Question, text: string): 'right' | 'near-tie' | 'wrong' {
  const { expected, isScripted } = question
  if (text === expected || (isScripted && text.endsWith(expected))) return 'right'
  return marginAt(question, text) < NEAR ? 'near-tie' : 'wrong'
}

/** How sure the model was, in nats, of the tokens around the first difference: of the least sure one. */
export function marginAt({ expected, tokens }: Question, text: string): number {
  let same = 0
  while (same < text.length && text[same] === expected[same]) same++
  const at = tokens.findIndex(({ end }) => end > same)
  const around = tokens.slice(Math.max(0, at - 3), at + 1)
  return at < 0 ? Number.POSITIVE_INFINITY : Math.min(...around.map(({ margin }) => margin))
}
