import type { PromptLogprob } from '../../tasks/part.ts'
import { tokenLogprob } from './log-probability.ts'
import type { LlamaEvaluateOptions } from './llama-module.ts'
import type { Slot } from './slot.ts'
import type { Vocabulary } from './vocabulary.ts'

/** The distribution is told as it is only where the engine is greedy. */
const AS_IT_IS: LlamaEvaluateOptions = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  seed: 0,
  yieldEogToken: true,
}

export interface PromptReading {
  tokens: readonly number[]
  /** Likeliest others to be told for each token. */
  alternatives: number
  vocabulary: Vocabulary
  stopped: () => boolean
  moved: () => void
}

/**
 * Reads a prompt token by token into an empty slot, all but the last, and says how likely each was after those before it. That takes as long
 * as writing so many tokens, for the engine tells a whole distribution for each of them. @returns one entry for each token, the first
 * without a value; fewer when it was stopped
 */
export async function readPrompt(slot: Slot, reading: PromptReading): Promise<PromptLogprob[]> {
  const { tokens, alternatives, vocabulary, stopped, moved } = reading
  const [first = 0, ...others] = tokens
  const entries: PromptLogprob[] = [{ ...tokenLogprob(first, new Map(), 0, vocabulary), logprob: null }]
  if (others.length === 0) return entries
  if (slot.turn !== undefined) await slot.turn
  const steps = slot.sequence.evaluateWithMetadata([first], { probabilities: true }, AS_IT_IS)
  try {
    let step = await steps.next()
    for (const [index, token] of others.entries()) {
      if (stopped() || step.done === true) break
      const { probabilities = new Map<number, number>() } = step.value
      entries.push(tokenLogprob(token, probabilities, alternatives, vocabulary))
      moved()
      if (index === others.length - 1) break
      if (slot.turn !== undefined) await slot.turn
      step = await steps.next(token)
    }
  } finally {
    await steps.return()
  }
  return entries
}

/**
 * The entries as they stand in the prompt's text: control tokens by their names where the text has them, without the token that begins
 * every prompt unasked and without the space that some tokenizers put before it.
 */
export function shownEntries(
  entries: readonly PromptLogprob[],
  tokens: readonly number[],
  text: string,
  vocabulary: Vocabulary,
): PromptLogprob[] {
  const shown: PromptLogprob[] = []
  let at = 0
  for (const [index, entry] of entries.entries()) {
    const control = vocabulary.controlTextOf(tokens[index] ?? -1)
    const before = shown.length
    if (control === undefined) {
      const isAdded = at === 0 && entry.text.startsWith(' ') && !text.startsWith(' ')
      shown.push(isAdded ? { ...entry, text: entry.text.slice(1), bytes: entry.bytes.slice(1) } : entry)
    } else if (text.startsWith(control, at)) {
      shown.push({ ...entry, text: control, bytes: [...Buffer.from(control, 'utf8')] })
    }
    if (shown.length > before) at += shown.at(-1)?.text.length ?? 0
  }
  return shown
}
