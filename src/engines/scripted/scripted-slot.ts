import { readFile, writeFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { ModelyardError } from '../../base/errors.ts'
import { answerTokens, sharedTokens, tokensText, type PromptToken } from './prompt-tokens.ts'

/** What one slot remembers: the tokens of its last prompt and answer. */
export class ScriptedSlot {
  #tokens: PromptToken[] = []
  #answer = ''
  #busy = false

  /**
   * Begins a run on this slot.
   * @returns `cached` tokens that are used again (never all: the last one is always evaluated), and `exceeding`: what else the slot
   * still held although a prefix was to be kept. Of the right conversation that is nothing but its own last answer (R3, F1).
   */
  enter(prompt: PromptToken[], keptPrefix: number): { cached: number; exceeding: string } {
    if (this.#busy) throw new ModelyardError('internal', 'Two runs were started on one slot at a time.')
    this.#busy = true
    const held = keptPrefix > 0 ? this.#held() : []
    const shared = sharedTokens(held, prompt)
    this.#tokens = prompt
    this.#answer = ''
    return {
      cached: Math.max(0, Math.min(shared, prompt.length - 1)),
      exceeding: tokensText(held.slice(shared)),
    }
  }

  /** Ends a run: the slot holds the prompt and what was answered. */
  leave(answer: string): void {
    this.#busy = false
    this.#answer = answer
  }

  async save(path: string, planKey: string): Promise<{ tokens: number; bytes: number }> {
    const tokens = this.#held()
    const content = Buffer.from(
      JSON.stringify({ format: FILE_FORMAT, planKey, tokens, sum: sumOf(planKey, tokens) }),
    )
    await writeFile(path, content)
    return { tokens: tokens.length, bytes: content.length }
  }

  /** @returns false for a file that is missing, damaged or of another model; the slot is empty then */
  async restore(path: string, planKey: string): Promise<boolean> {
    const tokens = await readTokens(path, planKey)
    this.#tokens = tokens ?? []
    this.#answer = ''
    return tokens !== undefined
  }

  #held(): PromptToken[] {
    if (this.#answer === '') return this.#tokens
    return [...this.#tokens, ...answerTokens(this.#answer)]
  }
}

const FILE_FORMAT = 'modelyard-scripted-slot-1'

interface SlotFile {
  format: unknown
  planKey: unknown
  tokens: unknown
  sum: unknown
}

function sumOf(planKey: string, tokens: unknown): number {
  return crc32(JSON.stringify([planKey, tokens]))
}

async function readTokens(path: string, planKey: string): Promise<PromptToken[] | undefined> {
  try {
    const content = JSON.parse(await readFile(path, 'utf8')) as SlotFile
    const { format, tokens, sum } = content
    const ours = format === FILE_FORMAT && content.planKey === planKey && sum === sumOf(planKey, tokens)
    return ours && Array.isArray(tokens) ? (tokens as PromptToken[]) : undefined
  } catch {
    return undefined
  }
}
