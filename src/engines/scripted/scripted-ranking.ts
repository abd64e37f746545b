import type { StopSignal } from '../../base/cancellation.ts'
import type { RerankTask } from '../../tasks/rerank-task.ts'
import type { PartStream } from '../../tasks/part.ts'
import { words } from './prompt-tokens.ts'
import { findEntry } from './script.ts'
import type { ScriptedHost } from './scripted-run.ts'
import { longPairField, requireRoom, requireTask } from '../task-checks.ts'
import { sufferTrouble } from './trouble.ts'

function pairTokens({ query }: RerankTask, document: string): number {
  return words(query).length + words(document).length
}

export function countPairs(task: RerankTask): number {
  return task.documents.reduce((sum, document) => sum + pairTokens(task, document), 0)
}

/** One score per document, in order: the script's, else the share of the query's words that the document has. */
export async function* runRanking(task: RerankTask, signal: StopSignal, host: ScriptedHost): PartStream {
  const { lifetime, onProgress, plan } = host
  lifetime.check(signal)
  requireTask(task, plan)
  const asked = words(task.query).length
  for (const [index, document] of task.documents.entries()) {
    const field = longPairField(asked, plan.contextSize, index)
    requireRoom(pairTokens(task, document), plan.contextSize, field)
  }
  const begun = lifetime.clock.now()
  const promptTokens = countPairs(task)
  yield { type: 'started', promptTokens, cachedTokens: 0 }
  for (const [index, document] of task.documents.entries()) {
    const score = await rank(task.query, document, signal, host)
    lifetime.checkRun(signal)
    onProgress(lifetime.clock.now())
    yield { type: 'score', index, score }
  }
  const usage = { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }
  return { finishReason: 'stop', usage, timings: { prefill: lifetime.clock.now() - begun, decode: 0 } }
}

async function rank(
  query: string,
  document: string,
  signal: StopSignal,
  { script, lifetime }: ScriptedHost,
): Promise<number> {
  const entry = findEntry(script, document)
  if (entry !== undefined && entry.prefill > 0) await lifetime.wait(entry.prefill, signal)
  const trouble = entry?.troubles[0]
  if (trouble !== undefined) await sufferTrouble(trouble, lifetime, signal)
  return entry?.score ?? sharedWords(query, document)
}

function sharedWords(query: string, document: string): number {
  const asked = wordSet(query)
  const said = wordSet(document)
  const shared = [...asked].filter((word) => said.has(word)).length
  return asked.size === 0 ? 0 : shared / asked.size
}

function wordSet(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
}
