import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ModelyardError } from './base/errors.ts'
import type { ModelCollection, ModelDescription } from './dialects/yard-port.ts'
import type { ServedList } from './models/served-models.ts'
import type { RunQuery, RunRecord } from './runs/run-log.ts'
import type { ControlPort, Explanation } from './server/control-port.ts'
import { explainLiveRun, explainModel, explainRun } from './yard-explanations.ts'
import type { YardParts } from './yard-parts.ts'
import { yardHealth } from './yard-health.ts'
import { YardMetrics } from './yard-metrics.ts'
import { YardSettings } from './yard-settings.ts'
import type { TelemetryHistory } from './yard-telemetry.ts'

/** Instances whose log is still found after they are gone. */
const REMEMBERED = 200

/** What operators ask and change: settings, pins, runs, reasons, logs. */
export class YardControl implements ControlPort {
  readonly settings: YardSettings
  readonly #parts: YardParts
  readonly #metrics: YardMetrics
  readonly #collection: Pick<ModelCollection, 'describe'>
  /** Where the output of instances is kept, the oldest first. */
  readonly #logs = new Map<string, string>()

  constructor(parts: YardParts, collection: Pick<ModelCollection, 'describe'>) {
    this.#parts = parts
    this.#collection = collection
    this.settings = new YardSettings(parts)
    this.#metrics = new YardMetrics({
      bus: parts.bus,
      status: () => parts.pool.status(),
      ready: () => yardHealth(parts).ready,
      isKnown: (model) => parts.registry.has(model),
      devices: () => parts.devices.activity(),
    })
    parts.bus.subscribe((event) => {
      if (event.name === 'load-finished') this.#noteLog(event.data.instance)
    })
  }

  #noteLog(instance: string): void {
    const path = this.#parts.pool.loadedOf(instance)?.logPath
    if (path === undefined) return
    this.#logs.set(instance, path)
    const [oldest] = this.#logs.keys()
    if (this.#logs.size > REMEMBERED && oldest !== undefined) this.#logs.delete(oldest)
  }

  telemetry(since?: number): TelemetryHistory {
    return this.#parts.telemetry.history(since)
  }

  metrics(): Promise<string> {
    return this.#metrics.text()
  }

  describeModel(name: string): Promise<ModelDescription> {
    return this.#collection.describe(name)
  }

  async refreshModelLists(): Promise<ServedList[]> {
    return await this.#parts.modelLists.refresh()
  }

  async pin(model: string, pinned: boolean | 'soft'): Promise<void> {
    await this.settings.change({ [`models.${model}.pinned`]: pinned })
  }

  runs(query: RunQuery): RunRecord[] {
    return this.#parts.store.runs.find(query)
  }

  run(id: string): RunRecord | undefined {
    return this.#parts.store.runs.read(id)
  }

  async why(name: string): Promise<Explanation> {
    const run = this.run(name)
    if (run !== undefined) return explainRun(run, this.#parts)
    const live = this.#parts.live.find(name)
    if (live !== undefined) return explainLiveRun(live, this.#parts)
    try {
      return explainModel(this.#parts.registry.resolve(name), this.#parts)
    } catch (error) {
      if (!/^(run|req)_/.test(name)) throw error
      const message = `There is no run or request "${name}"; the log keeps 30 days. \`modelyard ps\` shows what is under way.`
      throw new ModelyardError('not_found', message, { cause: error })
    }
  }

  logOf(name: string): { path: string } | { lines: string[] } {
    const known = this.#logs.get(name)
    if (known !== undefined) return { path: known }
    const instance = this.#instanceOf(name)
    const path =
      this.#parts.pool.loadedOf(instance)?.logPath ?? this.#logs.get(instance) ?? this.#newestLog(instance)
    if (path !== undefined) return { path }
    const lines = this.#lastLines(instance)
    if (lines !== undefined) return { lines }
    const message = `"${name}" has no log: it runs in the server itself, or was not loaded since the server began.`
    throw new ModelyardError('not_found', message, { details: { name } })
  }

  /** A model is its newest instance. @throws ModelyardError `model_not_found` */
  #instanceOf(name: string): string {
    if (name.includes('#')) return name
    const { id } = this.#parts.registry.resolve(name)
    const living = this.#parts.pool.status().instances.findLast(({ model }) => model === id)
    return living?.id ?? [...this.#logs.keys()].findLast((instance) => modelOf(instance) === id) ?? id
  }

  /** Of a model that is still loading: workers write from their first moment on, under the model's name. */
  #newestLog(instance: string): string | undefined {
    const { logs } = this.#parts.configuration.directories
    const prefix = `${modelOf(instance)
      .replaceAll(/[^\w.-]+/g, '_')
      .slice(0, 60)}.`
    const isLoading = this.#parts.pool.status().instances.some(({ id }) => id === instance)
    try {
      const newest = isLoading
        ? readdirSync(logs)
            .filter((file) => file.startsWith(prefix))
            .sort()
            .at(-1)
        : undefined
      return newest === undefined ? undefined : join(logs, newest)
    } catch {
      return undefined
    }
  }

  /** The last words of an instance that ended badly. */
  #lastLines(instance: string): string[] | undefined {
    for (const { data } of this.#parts.store.events.recent(1000)) {
      const {
        instance: of,
        model,
        logTail,
      } = data as { instance?: string; model?: string; logTail?: string[] }
      if ((of === instance || model === instance) && logTail !== undefined && logTail.length > 0)
        return logTail
    }
    return undefined
  }
}

function modelOf(instance: string): string {
  const end = instance.lastIndexOf('#')
  return end < 0 ? instance : instance.slice(0, end)
}
