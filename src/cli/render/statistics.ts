import { formatDuration } from '../../base/durations.ts'
import type { AnswerSummary } from '../yard-client.ts'

/** The `--verbose` lines under an answer. `firstText` and `total`: milliseconds as the person saw them. */
export function renderStatistics(
  summary: AnswerSummary,
  firstText: number | undefined,
  total: number,
): string {
  const { usage, timings } = summary
  const counted = (tokens: number): string => (usage.unknown === true ? 'uncounted' : String(tokens))
  const reused = usage.cachedTokens > 0 ? `, ${usage.cachedTokens} of them reused` : ''
  return [
    `model ${summary.model}${summary.instance === undefined ? '' : ` on ${summary.instance}`}, ended by ${summary.finishReason}`,
    `prompt ${counted(usage.promptTokens)} tokens${reused}${took(timings?.prefill)}`,
    `answer ${counted(usage.completionTokens)} tokens${took(timings?.decode)}${speed(usage.completionTokens, timings?.decode)}`,
    waits(summary),
    `first text after ${firstText === undefined ? '–' : formatDuration(firstText)}, all after ${formatDuration(total)}`,
  ]
    .filter((line) => line !== '')
    .join('\n')
}

/** What is said of an answer that nobody wanted to be cut: a small model may write on until its limit. Undefined for all others. */
export function cutNote(
  { finishReason, usage }: AnswerSummary,
  maxTokens: number | undefined,
): string | undefined {
  if (finishReason !== 'length' || maxTokens !== undefined) return undefined
  const where = usage.unknown === true ? 'at' : `after ${usage.completionTokens} tokens,`
  return `The answer was cut ${where} the limit of this model or its context. --max-tokens N sets another one.`
}

function took(milliseconds: number | undefined): string {
  return milliseconds === undefined ? '' : ` in ${formatDuration(milliseconds)}`
}

function speed(tokens: number, milliseconds: number | undefined): string {
  if (milliseconds === undefined || milliseconds <= 0 || tokens === 0) return ''
  return `, ${Number(((tokens / milliseconds) * 1000).toFixed(1))} tokens/s`
}

function waits({ queueMs, loadMs }: AnswerSummary): string {
  if (queueMs === undefined && loadMs === undefined) return ''
  return `waited ${formatDuration(queueMs ?? 0)}, of it ${formatDuration(loadMs ?? 0)} for the model to load`
}
