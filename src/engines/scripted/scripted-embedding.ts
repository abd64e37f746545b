import { createHash } from 'node:crypto'
import type { StopSignal } from '../../base/cancellation.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { EmbeddingInput, EmbeddingTask } from '../../tasks/embedding-task.ts'
import type { PartStream } from '../../tasks/part.ts'
import { words } from './prompt-tokens.ts'
import { normalised, pseudoRandomVector, shortened } from './pseudo-random-vector.ts'
import { findEntry, type CompiledEntry } from './script.ts'
import type { ScriptedHost } from './scripted-run.ts'
import { requireRoom, requireTask } from '../task-checks.ts'
import { checkTokenIds } from './task-checks.ts'
import { sufferTrouble } from './trouble.ts'

const DEFAULT_DIMENSIONS = 384

/** Images have no tokens. */
export function countInputTokens(input: EmbeddingInput): number {
  if (input instanceof Uint8Array) return 0
  return typeof input === 'string' ? words(input).length : input.length
}

export function countInputs(task: EmbeddingTask): number {
  return task.inputs.reduce((sum, input) => sum + countInputTokens(input), 0)
}

/** One vector per input, in order; the same input has the same vector, alone or in a batch (BR-34). */
export async function* runEmbedding(task: EmbeddingTask, signal: StopSignal, host: ScriptedHost): PartStream {
  admit(task, signal, host)
  const { lifetime, onProgress } = host
  const begun = lifetime.clock.now()
  const promptTokens = countInputs(task)
  const vectors: Float32Array[] = []
  for (const input of task.inputs) vectors.push(await embed(input, task.dimensions, signal, host))
  const prefill = lifetime.clock.now() - begun
  yield { type: 'started', promptTokens, cachedTokens: 0 }
  for (const [index, vector] of vectors.entries()) {
    lifetime.checkRun(signal)
    onProgress(lifetime.clock.now())
    yield { type: 'vector', index, vector }
  }
  const usage = { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }
  return { finishReason: 'stop', usage, timings: { prefill, decode: 0 } }
}

function admit(task: EmbeddingTask, signal: StopSignal, { plan, options, lifetime }: ScriptedHost): void {
  lifetime.check(signal)
  requireTask(task, plan)
  const longest = options.dimensions ?? DEFAULT_DIMENSIONS
  if (task.dimensions !== undefined && task.dimensions > longest) {
    const message = `The model's vectors have ${longest} dimensions; ${task.dimensions} cannot be had.`
    throw new ModelyardError('invalid_request', message, { details: { param: 'dimensions' } })
  }
  for (const [index, input] of task.inputs.entries()) {
    if (Array.isArray(input)) checkTokenIds(input, options.vocabularySize, `input[${index}]`)
    requireRoom(countInputTokens(input), plan.contextSize, `input[${index}]`)
  }
}

async function embed(
  input: EmbeddingInput,
  dimensions: number | undefined,
  signal: StopSignal,
  { options, script, lifetime }: ScriptedHost,
): Promise<Float32Array> {
  const text = textOf(input)
  const entry = findEntry(script, text)
  if (entry !== undefined && entry.prefill > 0) await lifetime.wait(entry.prefill, signal)
  const trouble = entry?.troubles[0]
  if (trouble !== undefined) await sufferTrouble(trouble, lifetime, signal)
  const full = vectorOf(entry, text, options.dimensions ?? DEFAULT_DIMENSIONS)
  return dimensions === undefined ? full : shortened(full, dimensions)
}

/** What stands for an input: entries match it, and its vector depends on nothing else. */
function textOf(input: EmbeddingInput): string {
  if (typeof input === 'string') return input
  return Array.isArray(input) ? input.join(' ') : createHash('sha256').update(input).digest('hex')
}

function vectorOf(entry: CompiledEntry | undefined, text: string, dimensions: number): Float32Array {
  return entry?.vector === undefined ? pseudoRandomVector(text, dimensions) : normalised(entry.vector)
}
