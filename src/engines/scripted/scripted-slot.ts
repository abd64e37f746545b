import { readFile, writeFile } from 'node:fs/promises'
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
    const content = Buffer.from(JSON.stringify({ format: FILE_FORMAT, planKey, tokens }), 'utf8')
    await writeFile(path, content)
    return { tokens: tokens.length, bytes: content.length }
  }

  /** @returns false for a file that is missing or of another model */
  async restore(path: string, planKey: string): Promise<boolean> {
    const tokens = await readTokens(path, planKey)
    if (tokens === undefined) return false
    this.#tokens = tokens
    this.#answer = ''
    return true
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
}

async function readTokens(path: string, planKey: string): Promise<PromptToken[] | undefined> {
  try {
    const content = JSON.parse(await readFile(path, 'utf8')) as SlotFile
    const ours = content.format === FILE_FORMAT && content.planKey === planKey
    return ours && Array.isArray(content.tokens) ? (content.tokens as PromptToken[]) : undefined
  } catch {
    return undefined
  }
}
