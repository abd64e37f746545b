import type { EventBus } from './events/event-bus.ts'
import type { YardEvent } from './events/event-map.ts'
import type { DeviceActivity } from './host/device-memory.ts'
import { proportionalSize } from './host/process-memory.ts'
import { readPressure, readProcessorSeconds, readProcessorTimes, readSwap } from './host/telemetry.ts'
import type { InstanceStatus, PoolStatus } from './pool/pool-status.ts'
import { Histogram } from './server/histogram.ts'
import { prometheusText, type MetricFamily, type Sample } from './server/prometheus-text.ts'
import { TallyBook } from './server/tally-book.ts'
import { VERSION } from './version.ts'

/** Seconds. From an answer without a wait to ten minutes of a cold disk. */
const WAITS = [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

interface MetricSources {
  bus: EventBus
  status: () => PoolStatus
  ready: () => boolean
  /** Whether a name is one of a model here: nobody else's words become labels. */
  isKnown: (model: string) => boolean
  devices: () => DeviceActivity[]
}

/** Counts what happens, and says with the state of the moment all that `/metrics` shows (H4, M18). */
export class YardMetrics {
  readonly #sources: MetricSources
  readonly #runs = new TallyBook(['model', 'outcome'])
  readonly #tokens = new TallyBook(['model', 'kind'])
  readonly #refusals = new TallyBook(['code'])
  readonly #failures = new TallyBook(['model', 'failure'])
  readonly #waits = new Histogram(WAITS)
  readonly #loads = new Histogram(WAITS)

  constructor(sources: MetricSources) {
    this.#sources = sources
    sources.bus.subscribe((event) => this.#count(event))
  }

  #count({ name, data }: YardEvent): void {
    if (name === 'lease-granted') this.#waits.observe(data.queueMs / 1000)
    else if (name === 'load-finished') this.#loads.observe(data.took / 1000)
    else if (name === 'load-failed') this.#failures.add(1, data.model, data.failure)
    else if (name === 'ticket-refused') this.#refusals.add(1, data.code)
    else if (name === 'run-finished') this.#countRun(data)
  }

  #countRun(run: (YardEvent & { name: 'run-finished' })['data']): void {
    const model = this.#sources.isKnown(run.model) ? run.model : ''
    this.#runs.add(1, model, run.outcome)
    this.#tokens.add(run.promptTokens - run.cachedTokens, model, 'prompt')
    this.#tokens.add(run.cachedTokens, model, 'cached')
    this.#tokens.add(run.completionTokens, model, 'completion')
  }

  /** The text that Prometheus reads. Measures every worker's memory: some milliseconds each, off the main thread. */
  async text(): Promise<string> {
    const status = this.#sources.status()
    const families = [
      ...this.#ownFamilies(),
      ...poolFamilies(status),
      ...memoryFamilies(status),
      ...(await workerFamilies(status.instances)),
      ...machineFamilies(this.#sources.devices()),
    ]
    return prometheusText(families)
  }

  #ownFamilies(): MetricFamily[] {
    const { rss } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    return [
      gauge('modelyard_info', 'Version of this server; always 1.', [
        { labels: { version: VERSION }, value: 1 },
      ]),
      gauge('modelyard_ready', 'Whether requests are taken now.', [{ value: Number(this.#sources.ready()) }]),
      gauge('process_resident_memory_bytes', 'Resident memory of the server itself.', [{ value: rss }]),
      counter('process_cpu_seconds_total', 'Processor time of the server itself.', [
        { value: (user + system) / 1e6 },
      ]),
      counter('modelyard_runs_total', 'Runs that ended, by how.', this.#runs.samples()),
      counter(
        'modelyard_tokens_total',
        'Tokens evaluated (prompt), reused (cached) and generated (completion).',
        this.#tokens.samples(),
      ),
      counter(
        'modelyard_refusals_total',
        'Requests that were refused a place, by code.',
        this.#refusals.samples(),
      ),
      counter('modelyard_load_failures_total', 'Loads that failed, by class.', this.#failures.samples()),
      {
        name: 'modelyard_wait_seconds',
        help: 'How long requests waited for a place, loads included.',
        type: 'histogram',
        histogram: this.#waits.reading(),
      },
      {
        name: 'modelyard_load_duration_seconds',
        help: 'How long loads took that succeeded.',
        type: 'histogram',
        histogram: this.#loads.reading(),
      },
    ]
  }
}

function gauge(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: 'gauge', samples }
}

function counter(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: 'counter', samples }
}

function poolFamilies({ models, instances, queue, runs, threads, contexts }: PoolStatus): MetricFamily[] {
  const known = Object.entries(models)
  const waiting = new Map<string, number>(known.map(([model]) => [model, 0]))
  for (const { model } of queue) waiting.set(model, (waiting.get(model) ?? 0) + 1)
  return [
    counter(
      'modelyard_model_loads_total',
      'Loads that were begun.',
      known.map(([model, { loads }]) => ({ labels: { model }, value: loads })),
    ),
    counter(
      'modelyard_model_evictions_total',
      'Copies that had to go for others.',
      known.map(([model, { evictions }]) => ({ labels: { model }, value: evictions })),
    ),
    gauge(
      'modelyard_model_state',
      '1 for the state each model is in.',
      known.map(([model, { state }]) => ({ labels: { model, state }, value: 1 })),
    ),
    gauge(
      'modelyard_queue_requests',
      'Requests that wait, by model.',
      [...waiting].map(([model, value]) => ({ labels: { model }, value })),
    ),
    gauge(
      'modelyard_instance_leases',
      'Slots in use.',
      instances.map((instance) => ({ labels: labelsOf(instance), value: instance.leases })),
    ),
    gauge(
      'modelyard_instance_slots',
      'Slots there are.',
      instances.map((instance) => ({ labels: labelsOf(instance), value: instance.slots.length })),
    ),
    gauge('modelyard_contexts_parked', 'Contexts on disk.', [{ value: contexts.count }]),
    gauge('modelyard_contexts_bytes', 'What they take there.', [{ value: contexts.bytes }]),
    counter(
      'modelyard_context_restores_total',
      'Restores of which the engine confirmed the tokens.',
      known.map(([model, status]) => ({ labels: { model }, value: status.contexts.restored })),
    ),
    counter(
      'modelyard_context_saved_tokens_total',
      'Prompt tokens that did not have to be computed again, as engines confirmed them.',
      known.map(([model, status]) => ({ labels: { model }, value: status.contexts.savedTokens })),
    ),
    counter(
      'modelyard_context_saved_seconds_total',
      'What they would have taken, less the time to read them from disk.',
      known.map(([model, status]) => ({ labels: { model }, value: status.contexts.savedSeconds })),
    ),
    gauge(
      'modelyard_context_unfit',
      '1 for models whose restores do not hold; the state says why.',
      known.map(([model, status]) => ({
        labels: { model },
        value: Number(status.contexts.unfit !== undefined),
      })),
    ),
    gauge('modelyard_runs_active', 'Runs under way.', [{ value: runs.active }]),
    gauge('modelyard_runs_limit', 'Runs that may be under way at once.', [{ value: runs.limit }]),
    gauge('modelyard_threads_active', 'Threads of the runs under way.', [{ value: threads.active }]),
  ]
}

function memoryFamilies({ memory }: PoolStatus): MetricFamily[] {
  const domains = Object.entries(memory).flatMap(([domain, status]) =>
    status === undefined ? [] : [{ domain, status }],
  )
  const hosts = domains.flatMap(({ domain, status: { host } }) =>
    host === undefined ? [] : [{ domain, host }],
  )
  const states = ['loading', 'resident', 'releasing'] as const
  return [
    gauge(
      'modelyard_memory_budget_bytes',
      'Soft budget.',
      domains.map(({ domain, status }) => ({ labels: { domain }, value: status.budget })),
    ),
    gauge(
      'modelyard_memory_absolute_bytes',
      'Limit of forced loads.',
      domains.map(({ domain, status }) => ({ labels: { domain }, value: status.absolute })),
    ),
    gauge(
      'modelyard_memory_booked_bytes',
      'Bytes that models hold or are promised, by the state of the holder.',
      domains.flatMap(({ domain, status }) =>
        states.map((state) => ({ labels: { domain, state }, value: status[state] })),
      ),
    ),
    gauge(
      'modelyard_host_memory_total_bytes',
      'Memory of the machine or its control group.',
      hosts.map(({ domain, host }) => ({ labels: { domain }, value: host.total })),
    ),
    gauge(
      'modelyard_host_memory_available_bytes',
      'What of it was free when it was last looked at.',
      hosts.map(({ domain, host }) => ({ labels: { domain }, value: host.available })),
    ),
  ]
}

async function workerFamilies(instances: readonly InstanceStatus[]): Promise<MetricFamily[]> {
  const workers = instances.flatMap((instance) =>
    instance.pid === undefined ? [] : [{ instance, pid: instance.pid }],
  )
  const measured = await Promise.all(
    workers.map(async ({ instance, pid }) => ({
      instance,
      memory: await proportionalSize(pid),
      processor: readProcessorSeconds(pid),
    })),
  )
  const memory = measured.flatMap(({ instance, memory: seen }) =>
    seen === undefined ? [] : [{ labels: labelsOf(instance), value: seen }],
  )
  const processor = measured.flatMap(({ instance, processor: seconds }) =>
    seconds === undefined ? [] : [{ labels: labelsOf(instance), value: seconds }],
  )
  return [
    gauge(
      'modelyard_worker_memory_bytes',
      "Memory of a worker's processes (PSS: what is shared is divided).",
      memory,
    ),
    counter('modelyard_worker_cpu_seconds_total', "Processor time of a worker's processes.", processor),
  ]
}

function machineFamilies(devices: readonly DeviceActivity[]): MetricFamily[] {
  const swap = readSwap()
  const processors = readProcessorTimes()
  const pressure = readPressure().map(({ resource, share, stalledSeconds }) => ({
    labels: { resource, share },
    value: stalledSeconds,
  }))
  return [
    gauge(
      'modelyard_host_swap_total_bytes',
      'Swap of the machine; never counted as memory.',
      swap === undefined ? [] : [{ value: swap.total }],
    ),
    gauge(
      'modelyard_host_swap_free_bytes',
      'Swap that is free.',
      swap === undefined ? [] : [{ value: swap.free }],
    ),
    counter(
      'modelyard_host_pressure_seconds_total',
      'Time in which tasks stood still for want of a resource (PSI).',
      pressure,
    ),
    counter(
      'modelyard_host_cpu_seconds_total',
      'Processor time of the machine, all cores together.',
      Object.entries(processors ?? {}).map(([mode, value]: [string, number]) => ({
        labels: { mode },
        value,
      })),
    ),
    gauge(
      'modelyard_gpu_utilization_ratio',
      'Part of the last moments in which each device worked, 0 to 1, where its driver tells.',
      devices.flatMap(({ domain, busy }) =>
        busy === undefined ? [] : [{ labels: { domain }, value: busy }],
      ),
    ),
  ]
}

function labelsOf({ model, id }: InstanceStatus): { model: string; instance: string } {
  return { model, instance: id }
}
