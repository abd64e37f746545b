import type { EngineCapabilities } from '../engines/engine.ts'
import type { LoadForecast } from '../pool/forecast.ts'
import type { Run, RunRequest } from '../runs/run.ts'
import type { Task } from '../tasks/task.ts'

/** A model as dialects list it. */
export interface ModelListing {
  id: string
  aliases: string[]
  /** Seconds since 1970 of the model's files (or of the yard's start). */
  created: number
  state: string
  contextLength: number | null
  capabilities: EngineCapabilities | null
  purpose: 'generation' | 'embedding' | 'rerank'
}

/** All that a dialect knows of the yard; `yard.ts` implements it. */
export interface YardPort {
  listModels(): Promise<ModelListing[]>
  /** By id or alias. @throws ModelyardError `model_not_found` with the nearest known names */
  findModel(name: string): Promise<ModelListing>
  /** Never throws: what is wrong with the request comes out of `run.parts`. */
  startRun(request: RunRequest): Run
  countTokens(model: string, task: Task, signal?: AbortSignal): Promise<number>
  /** A load without a run. */
  loadModel(model: string, options?: { keepAlive?: number; signal?: AbortSignal }): Promise<void>
  unloadModel(model: string): Promise<void>
  /** What loading the model would do now, without loading it; absent in ports that cannot say. */
  plan?(model: string): Promise<LoadForecast>
}
