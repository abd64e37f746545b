import type { Clock } from './base/clock.ts'
import { ModelyardError } from './base/errors.ts'
import type { YardDirectories } from './config/directories.ts'
import type { AskModel, Engine, LoadedModel, LoadOptions, LoadPlan } from './engines/engine.ts'
import { coreCount } from './host/host-facts.ts'
import type { MeasuredFootprint } from './host/memory.ts'
import { LlamaServerEngine } from './engines/llama-server/llama-server-engine.ts'
import type { PrefillSpeeds } from './engines/llama-server/prefill-speeds.ts'
import { MlxEngine } from './engines/mlx/mlx-engine.ts'
import { NodeLlamaCppEngine } from './engines/node-llama-cpp/node-llama-cpp-engine.ts'
import { ScriptedEngine } from './engines/scripted/scripted-engine.ts'
import { SdServerEngine } from './engines/sd-server/sd-server-engine.ts'
import { SpeechEngine } from './engines/speech/speech-engine.ts'
import { TransformersEngine } from './engines/transformers/transformers-engine.ts'
import { UpstreamEngine } from './engines/upstream/upstream-engine.ts'
import { WorkerEngine } from './engines/worker/worker-engine.ts'

export interface EngineOptions {
  clock: Clock
  directories: YardDirectories
  /** The caller's own engines; they run in this process. */
  custom: readonly Engine[]
  environmentVariable: (name: string) => string | undefined
  /** Told when more is known of a model that is elsewhere than its plan says. */
  onLearned: (model: string) => void
  /** Processes that wait with node-llama-cpp imported (R18). */
  spareWorkers: number
  /** What a process holds on devices (M12). */
  deviceBytes: (pid: number) => MeasuredFootprint
  /** How fast prompts were, kept for the next start. */
  speeds: PrefillSpeeds
}

/**
 * All engines by name, and where each load runs: in a supervised child by default, in this process on request (`isolation: "none"`, E7).
 */
export class IsolatedEngines {
  /** For plans, capabilities and availability; nothing is loaded with these. */
  readonly byName: ReadonlyMap<string, Engine>
  readonly #workers = new Map<string, WorkerEngine>()
  #ask: AskModel | undefined

  constructor({
    clock,
    directories,
    custom,
    environmentVariable,
    onLearned,
    deviceBytes,
    spareWorkers,
    speeds,
  }: EngineOptions) {
    const packaged = { enginesDirectory: directories.engines }
    const builtIn: [Engine, Record<string, unknown>][] = [
      [new NodeLlamaCppEngine(packaged), packaged],
      [new TransformersEngine(packaged), packaged],
      [new SpeechEngine(packaged), packaged],
      [new ScriptedEngine({ clock }), {}],
    ]
    const upstream = new UpstreamEngine({
      clock,
      environmentVariable,
      onLearned,
      recordsDirectory: directories.workers,
      logDirectory: directories.logs,
    })
    const llamaServer = new LlamaServerEngine({
      clock,
      deviceBytes,
      speeds,
      cores: () => coreCount(),
      enginesDirectory: directories.engines,
      recordsDirectory: directories.workers,
      slotsDirectory: directories.slots,
      logDirectory: directories.logs,
    })
    const mlx = new MlxEngine({
      clock,
      enginesDirectory: directories.engines,
      recordsDirectory: directories.workers,
      logDirectory: directories.logs,
    })
    const sdServer = new SdServerEngine({
      clock,
      deviceBytes,
      recordsDirectory: directories.workers,
      logDirectory: directories.logs,
    })
    const apart = [upstream, llamaServer, mlx, sdServer]
    this.byName = byName([...builtIn.map(([engine]) => engine), ...apart, ...custom])
    for (const [inner, engineOptions] of builtIn) {
      const worker = new WorkerEngine({
        engine: inner.name,
        inner,
        clock,
        engineOptions,
        deviceBytes,
        // Others are there at once.
        spareWorkers: inner.name === 'node-llama-cpp' ? spareWorkers : 0,
        recordsDirectory: directories.workers,
        logDirectory: directories.logs,
      })
      this.#workers.set(inner.name, worker)
    }
  }

  /** How models that use others ask them (P14). */
  connect(ask: AskModel): void {
    this.#ask = ask
  }

  async load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel> {
    const isolated = plan.spec.isolation === 'worker' ? this.#workers.get(plan.engine) : undefined
    const engine = isolated ?? this.byName.get(plan.engine)
    if (engine === undefined)
      throw new ModelyardError('engine_missing', `There is no engine "${plan.engine}" here.`)
    const ask = plan.uses === undefined ? undefined : this.#ask
    return await engine.load(plan, ask === undefined ? options : { ...options, ask })
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.close()))
  }
}

/** @throws ModelyardError `config_invalid` for two engines of one name */
function byName(engines: readonly Engine[]): ReadonlyMap<string, Engine> {
  const named = new Map<string, Engine>()
  for (const engine of engines) {
    if (named.has(engine.name)) {
      const message = `There are two engines of the name "${engine.name}"; give yours another one.`
      throw new ModelyardError('config_invalid', message)
    }
    named.set(engine.name, engine)
  }
  return named
}
