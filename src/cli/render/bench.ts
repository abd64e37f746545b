import { formatDuration } from '../../base/durations.ts'
import { safeText } from './safe-text.ts'
import { renderTable } from './table.ts'

/** The middle of what was measured, the smallest and the largest. */
export interface Spread {
  median: number
  least: number
  most: number
}

/** What `modelyard bench` found. Milliseconds, tokens, and tokens a second; null = whoever ran it does not say. */
export interface BenchReport {
  model: string
  rounds: number
  parallel: number
  /** What the first question waited for a load: 0 when the model was in memory. */
  loadMs: number | null
  /** Tokens of each prompt that were computed, and of each answer. */
  promptTokens: Spread | null
  completionTokens: Spread | null
  /** From the question to the first piece of its answer. */
  firstToken: Spread | null
  /** Of each answer, in the engine. */
  prefill: Spread | null
  decode: Spread | null
  /** Answer tokens of all questions that are asked at once, from the first question to the last answer's end. */
  together: Spread | null
}

export function renderBench(report: BenchReport): string {
  const { model, rounds, parallel, loadMs, promptTokens, completionTokens } = report
  const count = (name: string, spread: Spread | null): readonly string[] => rowOf(name, spread, String)
  const speed = (name: string, spread: Spread | null): readonly string[] =>
    rowOf(name, spread, (tokens) => `${Number(tokens.toFixed(1))} tokens/s`)
  const right = { align: 'right' as const }
  const title = `${safeText(model)}, ${rounds} × ${parallel}`
  const columns = [{ title }, ...['MEDIAN', 'LEAST', 'MOST'].map((name) => ({ title: name, ...right }))]
  const table = renderTable(columns, [
    rowOf('first token', report.firstToken, formatDuration),
    speed('prompt', report.prefill),
    speed('answer', report.decode),
    speed('all at once', report.together),
    count('prompt tokens', promptTokens),
    count('answer tokens', completionTokens),
  ])
  return loadMs === null || loadMs <= 0 ? table : `${table}\nIts load took ${formatDuration(loadMs)}.`
}

function rowOf(name: string, spread: Spread | null, show: (value: number) => string): readonly string[] {
  if (spread === null) return [name, '–', '–', '–']
  return [name, show(spread.median), show(spread.least), show(spread.most)]
}
