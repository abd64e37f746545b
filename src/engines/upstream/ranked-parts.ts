import { isMap } from '../../base/is-map.ts'
import { likelihood } from '../../base/likelihood.ts'
import type { Part } from '../../tasks/part.ts'
import type { ReadDocument } from './document-reader.ts'
import { unreadable } from './upstream-error.ts'

interface Ranking {
  /** Id of the model, for errors. */
  model: string
  /** Documents that were ranked. */
  count: number
  /** Whether the endpoint gives the model's own numbers, of any size, instead of 0…1. */
  isRaw: boolean
}

/** The scores of `/rerank`: Jina's, Cohere's, vLLM's and llama.cpp's `results`, or `data`; in any order, each document once. */
export function rankedParts({ model, count, isRaw }: Ranking): ReadDocument {
  return ({ results, data }) => {
    const entries = results ?? data
    if (!Array.isArray(entries)) throw unreadable(model, 'no list of results')
    const scores = Array.from<number | undefined>({ length: count })
    for (const entry of entries as unknown[]) {
      const { index, score } = scoreOf(entry) ?? { index: -1, score: 0 }
      if (index in scores) scores[index] = score
    }
    const known = scores.filter((score) => score !== undefined)
    if (known.length < count) throw unreadable(model, `scores of ${known.length} documents for ${count}`)
    // Numbers of any size come from servers that nobody knows, too: order is what counts, and it stays.
    const isScaled = !isRaw && known.every((score) => score >= 0 && score <= 1)
    return known.map((score, index): Part => {
      return { type: 'score', index, score: isScaled ? score : likelihood(score) }
    })
  }
}

function scoreOf(entry: unknown): { index: number; score: number } | undefined {
  if (!isMap(entry)) return undefined
  const { index, relevance_score: relevance, score } = entry
  const told = relevance ?? score
  return typeof index === 'number' && typeof told === 'number' ? { index, score: told } : undefined
}
