import { stat } from 'node:fs/promises'
import type { HostFacts, LoadedModel, LoadPlan, RunOptions } from '../../src/engines/engine.ts'
import { NodeLlamaCppEngine } from '../../src/engines/node-llama-cpp/node-llama-cpp-engine.ts'
import { purposeOf } from '../../src/models/gguf/gguf-facts.ts'
import { readGgufFacts } from '../../src/models/gguf/read-gguf-facts.ts'
import type { ModelFacts } from '../../src/models/model-facts.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import type { ChatTask } from '../../src/tasks/chat-task.ts'
import type { CompletionTask } from '../../src/tasks/completion-task.ts'
import type { EmbeddingTask } from '../../src/tasks/embedding-task.ts'
import type { Message } from '../../src/tasks/message.ts'
import type { Part, PartStream, Result } from '../../src/tasks/part.ts'
import type { Task } from '../../src/tasks/task.ts'
import { ENGINES_DIRECTORY } from '../models/paths.ts'

export const NEVER: AbortSignal = new AbortController().signal

export const engine: NodeLlamaCppEngine = new NodeLlamaCppEngine({ enginesDirectory: ENGINES_DIRECTORY })

export const HOST: HostFacts = {
  cores: 2,
  memory: { ram: { total: 16 * 1024 ** 3, available: 8 * 1024 ** 3, source: 'test' } },
}

/** A spec with the defaults of the configuration, one slot, on the CPU. */
export function specOf(changes: Partial<ModelSpec> = {}): ModelSpec {
  return {
    id: 'test',
    slots: 1,
    minInstances: 0,
    maxInstances: 1,
    keepAlive: 300_000,
    pinned: false,
    prepare: 'on-demand',
    isolation: 'none',
    device: { gpu: false, threads: 1, memoryLock: false },
    aliases: [],
    defaults: { temperature: 0 },
    engineOptions: {},
    ...changes,
  }
}

/** What inspecting the file finds. */
export async function factsOf(path: string): Promise<ModelFacts> {
  const gguf = await readGgufFacts(path)
  const { size } = await stat(path)
  return { format: 'gguf', path, fileSize: size, contentId: path, purpose: purposeOf(gguf), gguf }
}

export async function planOf(path: string, changes: Partial<ModelSpec> = {}): Promise<LoadPlan> {
  return engine.plan(specOf(changes), await factsOf(path), HOST)
}

export async function load(path: string, changes: Partial<ModelSpec> = {}): Promise<LoadedModel> {
  return engine.load(await planOf(path, changes), { signal: NEVER, onProgress: () => undefined })
}

export function chat(messages: string | Message[], changes: Partial<ChatTask> = {}): ChatTask {
  const turns: Message[] = typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages
  return { kind: 'chat', messages: turns, sampling: {}, stop: [], ...changes }
}

export function completion(prompt: string | number[], changes: Partial<CompletionTask> = {}): CompletionTask {
  return { kind: 'completion', prompt, sampling: {}, stop: [], ...changes }
}

export function embedding(inputs: (string | number[])[], dimensions?: number): EmbeddingTask {
  return { kind: 'embedding', inputs, ...(dimensions !== undefined && { dimensions }) }
}

export interface Answer {
  parts: Part[]
  text: string
  vectors: Float32Array[]
  result: Result
}

/** Reads a run to its end. */
export async function read(stream: PartStream, onPart?: (part: Part) => void): Promise<Answer> {
  const parts: Part[] = []
  for (let step = await stream.next(); ; step = await stream.next()) {
    if (step.done === true)
      return { parts, text: textOf(parts), vectors: vectorsOf(parts), result: step.value }
    parts.push(step.value)
    onPart?.(step.value)
  }
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function vectorsOf(parts: readonly Part[]): Float32Array[] {
  return parts.flatMap((part) => (part.type === 'vector' ? [part.vector] : []))
}

export async function ask(
  model: LoadedModel,
  task: Task,
  options: Partial<RunOptions> = {},
): Promise<Answer> {
  return read(model.run(task, { slot: 0, keptPrefix: 0, signal: NEVER, ...options }))
}
