import { sleep, SystemClock, type Clock } from '../../base/clock.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type {
  Availability,
  Engine,
  EngineCapabilities,
  HostFacts,
  LoadedModel,
  LoadOptions,
  LoadPlan,
} from '../engine.ts'
import { availabilityOf } from '../in-process/engine-package.ts'
import { findLlamaPackage } from './llama-package.ts'
import { gpuOf, llamaRuntime } from './llama-runtime.ts'
import { loadFailure, throwIfAborted } from '../llama-cpp/load-failure.ts'
import { NODE_LLAMA_CPP_CAPABILITIES, planLoad } from './node-llama-cpp-plan.ts'

/** Milliseconds that llama.cpp's last log lines need to come over from native code. */
const LOG_DELAY = 20

/** All that loads and runs models: workers import it beside the library, and servers, which only plan, never. */
const loading = (): Promise<typeof import('./load-model.ts')> => import('./load-model.ts')

export interface NodeLlamaCppEngineOptions {
  /** Folder of installed engines; `<it>/node-llama-cpp/node_modules` is looked into after the application's own packages. */
  enginesDirectory?: string
  /** Default: the system's clock. */
  clock?: Clock
}

/**
 * llama.cpp inside this process, by the package node-llama-cpp: GGUF models on CPU and GPU. The package is optional and imported with
 * the first load. A corrupt file can end the process, and so can one that is cut short while it is mapped (BR-26; removing or
 * replacing it by a rename is harmless), so servers run it in a worker (E7).
 */
export class NodeLlamaCppEngine implements Engine {
  readonly name = 'node-llama-cpp'
  readonly capabilities: EngineCapabilities = NODE_LLAMA_CPP_CAPABILITIES
  readonly #enginesDirectory: string | undefined
  readonly #clock: Clock

  constructor({ enginesDirectory, clock = new SystemClock() }: NodeLlamaCppEngineOptions = {}) {
    this.#enginesDirectory = enginesDirectory
    this.#clock = clock
  }

  /** Looks at files only; nothing native comes into the server's process. */
  async detect(): Promise<Availability> {
    return availabilityOf(await findLlamaPackage(this.#enginesDirectory))
  }

  /** Imports the package and starts the library: half a second that a spare worker has behind it (R18). */
  async prepare(): Promise<void> {
    await Promise.all([llamaRuntime(this.#enginesDirectory), loading()])
  }

  plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    return planLoad(spec, facts, host)
  }

  async load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel> {
    throwIfAborted(plan, options.signal)
    options.onProgress({ stage: 'starting' })
    const runtime = await this.#runtime(plan)
    const { mark } = runtime.log
    try {
      throwIfAborted(plan, options.signal)
      const { version } = runtime
      const { loadModel } = await loading()
      const model = await loadModel(plan, { ...options, runtime, version, clock: this.#clock })
      if (!options.signal.aborted) return model
      await model.unload()
      throw options.signal.reason
    } catch (error) {
      throwIfAborted(plan, options.signal)
      await sleep(this.#clock, LOG_DELAY)
      throw loadFailure(plan, error, runtime.log.since(mark))
    }
  }

  async #runtime(plan: LoadPlan): ReturnType<typeof llamaRuntime> {
    try {
      return await llamaRuntime(this.#enginesDirectory, gpuOf(plan))
    } catch (error) {
      throw loadFailure(plan, error, [])
    }
  }
}
