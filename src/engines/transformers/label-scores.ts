import { likelihood } from '../../base/likelihood.ts'

/** A label and how well it fits, 0…1. */
export interface LabelScore {
  label: string
  score: number
}

/** Scores of alternatives of which one is right: they sum to 1. */
export function shares(logits: readonly number[]): number[] {
  const most = Math.max(...logits)
  const weights = logits.map((logit) => Math.exp(logit - most))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}

/** The likeliest first; equal ones stay in the order given. */
export function ranked(labels: readonly string[], scores: readonly number[]): LabelScore[] {
  return scores.map((score, index) => ({ label: labelOf(labels, index), score })).sort(likeliestFirst)
}

/** A class by its label, or by its number where it has none. */
export function labelOf(labels: readonly string[], index: number): string {
  return labels[index] ?? `LABEL_${index}`
}

export function likeliestFirst(one: LabelScore, other: LabelScore): number {
  return other.score - one.score
}

/** Numbers of the two answers of a model that judges whether a sentence follows from a text. */
export interface Judgement {
  follows: number
  /** Absent where the model has no word for the contrary. */
  contradicts?: number
}

/** Where a model that judges sentences has its answers among its labels; undefined for all other models. */
export function judgementOf(labels: readonly string[]): Judgement | undefined {
  const numberOf = (name: RegExp): number | undefined => {
    const index = labels.findIndex((label) => name.test(label))
    return index < 0 ? undefined : index
  }
  const follows = numberOf(/^entail/i)
  if (follows === undefined) return undefined
  const contradicts = numberOf(/^(contra|not[_ ]entail)/i)
  return { follows, ...(contradicts !== undefined && { contradicts }) }
}

/**
 * Scores of labels, of the answers that a model gave for each one's sentence.
 * @param multiple several can be right: each is what follows against what contradicts; else those that follow are weighed against each other
 */
export function zeroShotScores(
  answers: readonly (readonly number[])[],
  { follows, contradicts }: Judgement,
  multiple: boolean,
): number[] {
  const yes = answers.map((logits) => logits[follows] ?? 0)
  if (!multiple && answers.length > 1) return shares(yes)
  return answers.map((logits, index) => {
    const no = contradicts === undefined ? 0 : (logits[contradicts] ?? 0)
    return likelihood((yes[index] ?? 0) - no)
  })
}
