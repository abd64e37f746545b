import { sleep } from '../../base/clock.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { EngineCapabilities, HostFacts, LoadedModel, LoadOptions, LoadPlan } from '../engine.ts'
import type { FoundPackage, Obstacle } from '../in-process/engine-package.ts'
import { PackageEngine } from '../in-process/package-engine.ts'
import { findLlamaPackage } from './llama-package.ts'
import { gpuOf, llamaRuntime } from './llama-runtime.ts'
import { loadFailure, throwIfAborted } from '../llama-cpp/load-failure.ts'
import { NODE_LLAMA_CPP_CAPABILITIES, planLoad } from './node-llama-cpp-plan.ts'

/** Milliseconds that llama.cpp's last log lines need to come over from native code. */
const LOG_DELAY = 20

/** All that loads and runs models: workers import it beside the library, and servers, which only plan, never. */
const loading = (): Promise<typeof import('./load-model.ts')> => import('./load-model.ts')

/**
 * llama.cpp inside this process, by the package node-llama-cpp: GGUF models on CPU and GPU. The package is optional and imported with
 * the first load. A corrupt file can end the process, and so can one that is cut short while it is mapped (BR-26; removing or
 * replacing it by a rename is harmless), so servers run it in a worker (E7).
 */
export class NodeLlamaCppEngine extends PackageEngine {
  override readonly name = 'node-llama-cpp'
  override readonly capabilities: EngineCapabilities = NODE_LLAMA_CPP_CAPABILITIES

  protected override findPackage(): Promise<FoundPackage | Obstacle> {
    return findLlamaPackage(this.enginesDirectory)
  }

  /** Imports the package and starts the library: half a second that a spare worker has behind it (R18). */
  override async prepare(): Promise<void> {
    await Promise.all([llamaRuntime(this.enginesDirectory), loading()])
  }

  override plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planLoad(spec, facts, host)
  }

  override async load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel> {
    throwIfAborted(plan, options.signal)
    options.onProgress({ stage: 'starting' })
    const runtime = await this.#runtime(plan)
    const { mark } = runtime.log
    try {
      throwIfAborted(plan, options.signal)
      const { version } = runtime
      const { loadModel } = await loading()
      const model = await loadModel(plan, { ...options, runtime, version, clock: this.clock })
      if (!options.signal.aborted) return model
      await model.unload()
      throw options.signal.reason
    } catch (error) {
      throwIfAborted(plan, options.signal)
      await sleep(this.clock, LOG_DELAY)
      throw loadFailure(plan, error, runtime.log.since(mark))
    }
  }

  async #runtime(plan: LoadPlan): ReturnType<typeof llamaRuntime> {
    try {
      return await llamaRuntime(this.enginesDirectory, gpuOf(plan))
    } catch (error) {
      throw loadFailure(plan, error, [])
    }
  }
}
