import { rm } from 'node:fs/promises'
import { SystemClock, type Clock } from './base/clock.ts'
import { SteadyClock } from './base/steady-clock.ts'
import { checkYardOptions } from './check-yard-options.ts'
import { environmentVariable, libraryDirectories } from './config.ts'
import { defaultSpec } from './config/default-spec.ts'
import { layeredConfiguration } from './config/layered-configuration.ts'
import { MODEL_ID } from './config/model-shape.ts'
import type { YardDirectories } from './config/directories.ts'
import { poolLimits } from './config/pool-limits.ts'
import type { YardConfiguration } from './config/yard-configuration.ts'
import { ContextFolder } from './contexts/context-folder.ts'
import type { HostFacts } from './engines/engine.ts'
import { EventBus } from './events/event-bus.ts'
import type { YardEvent } from './events/event-map.ts'
import type { HomeClaim } from './host/home-lock.ts'
import { DeviceWatch } from './host/device-watch.ts'
import { readHostFacts } from './host/host-facts.ts'
import { HostMemoryProbe } from './host/memory-probe.ts'
import type { MemoryDomain } from './host/memory.ts'
import { endLeftovers } from './host/worker-records.ts'
import { IsolatedEngines } from './isolated-engines.ts'
import { ArtifactStore, type EnsureOptions } from './models/artifact-store.ts'
import { ModelInspector } from './models/inspect-model.ts'
import type { ModelSpec } from './models/model-spec.ts'
import { RecipeBook } from './models/recipe-book.ts'
import { ModelRegistry } from './models/registry.ts'
import { ServedModels } from './models/served-models.ts'
import type { PoolStatus } from './pool/pool-status.ts'
import { Pool } from './pool/pool.ts'
import { TraceRecorder } from './pool/trace-recorder.ts'
import { CrashRecord } from './runs/crash-record.ts'
import { refuseOversized } from './runs/fetch-limit.ts'
import { LiveRuns } from './runs/live-runs.ts'
import { ModelPreparer } from './runs/model-preparer.ts'
import type { RunSurroundings } from './runs/run-task.ts'
import { openStore, type Store } from './store/open-store.ts'
import { TraceFile } from './trace-file.ts'
import { openHome, type OpenedHome } from './yard-home.ts'
import { ModelLists } from './yard-model-lists.ts'
import type { YardOptions } from './yard-options.ts'
import { adoptContexts } from './yard-contexts.ts'
import { withStoredSettings } from './stored-settings.ts'
import type { StateSources } from './yard-state.ts'

/** Characters a reader may lag behind before its run pauses (P16): more than any answer that fits a context of 128k tokens. */
const SLOW_READER_CAPACITY = 4_000_000

const MOST_WARNINGS = 20

/** All parts of an open yard. */
export interface YardParts extends StateSources {
  configuration: YardConfiguration
  bus: EventBus
  /** Takes the warnings that were raised before anybody listened. */
  earlyWarnings: () => YardEvent[]
  artifacts: ArtifactStore
  inspector: ModelInspector
  engines: IsolatedEngines
  modelLists: ModelLists
  store: Store
  recipes: RecipeBook
  home: HomeClaim
  runs: RunSurroundings
  host(): ReturnType<typeof readHostFacts>
  close(): Promise<void>
}

/** Constructs everything and wires it; nothing is loaded yet. @throws ModelyardError `config_invalid`, `home_in_use` */
export async function openParts(options: YardOptions): Promise<YardParts> {
  checkYardOptions(options)
  const clock = new SteadyClock(new SystemClock())
  const wanted = configurationOf(options)
  const bus = new EventBus(() => clock.wallTime())
  const earlyWarnings = keepWarnings(bus)
  const opened = await openHome({ home: options.home, directories: wanted.directories, clock, bus })
  try {
    const configuration = inDirectories(wanted, opened.directories)
    return await wire(options, configuration, opened, { clock, bus, earlyWarnings })
  } catch (error) {
    opened.claim.release()
    throw error
  }
}

function configurationOf({
  configuration,
  home,
  engines = [],
  slowReader,
  recordTrace,
  memoryProbe: _memoryProbe,
  ...input
}: YardOptions): YardConfiguration {
  if (configuration !== undefined) return configuration
  const parsing = {
    directories: libraryDirectories(home === false ? undefined : home),
    directory: process.cwd(),
    engines: Object.fromEntries(engines.map(({ name }) => [name, 'unchecked' as const])),
    what: 'createYard',
  }
  return layeredConfiguration({ file: input, environment: {}, commandLine: {}, parsing })
}

/** A home of its own changes where things are kept, now and whenever the configuration is put together again. */
function inDirectories(wanted: YardConfiguration, directories: YardDirectories): YardConfiguration {
  const { layers } = wanted
  if (layers === undefined) return { ...wanted, directories }
  return { ...wanted, directories, layers: { ...layers, parsing: { ...layers.parsing, directories } } }
}

/** Warnings from before anybody listened, for the first who does. */
function keepWarnings(bus: EventBus): () => YardEvent[] {
  const kept: YardEvent[] = []
  const stop = bus.subscribe((event) => {
    if (event.name === 'warning-raised' && kept.length < MOST_WARNINGS) kept.push(event)
  })
  return () => {
    stop()
    return kept.splice(0)
  }
}

async function wire(
  options: YardOptions,
  wanted: YardConfiguration,
  opened: OpenedHome,
  { clock, bus, earlyWarnings }: Pick<YardParts, 'bus' | 'earlyWarnings'> & { clock: SteadyClock },
): Promise<YardParts> {
  const { directories } = wanted
  const trace = openTrace(options, bus)
  const warn = (code: string, message: string): void => bus.emit('warning-raised', { code, message })
  const store = await openStore(directories.database, {
    clock,
    onProblem: ({ code, message }) => warn(code, message),
  })
  const configuration = withStoredSettings(wanted, store.settings, (message) =>
    warn('config_invalid', message),
  )
  // What was kept goes where nothing is to be kept any longer.
  store.responses.keep(configuration.server.responses)
  let parts: YardParts | undefined
  const live = new LiveRuns()
  const artifacts = new ArtifactStore({
    folder: directories.models,
    clock,
    transfer: configuration.downloads,
  })
  const recipes = new RecipeBook(store.settings)
  const served = new ServedModels(store.settings, (id) => MODEL_ID.pattern.test(id))
  const registry = new ModelRegistry({
    specs: configuration.models,
    artifacts,
    defaultSpec: (id, source) => defaultSpec(parts?.configuration ?? configuration, id, source),
    otherNames: (name) => recipes.find(name)?.from,
    served,
  })
  await Promise.all([removeLeftovers(directories, clock), registry.refresh()])
  const stopFollowing = store.follow(bus)
  const devices = new DeviceWatch({ clock })
  await devices.start()
  for (const reason of devices.unreadable()) {
    const message = `A GPU is not used, because its memory is unknown: ${reason}.`
    bus.emit('warning-raised', { code: 'gpu_unreadable', message })
  }
  const probe = options.memoryProbe ?? new HostMemoryProbe({ devices })
  const host = (): ReturnType<typeof readHostFacts> => readHostFacts(probe)
  const engines = new IsolatedEngines({
    clock,
    directories,
    custom: [...(options.engines ?? []), ...(configuration.engines ?? [])],
    environmentVariable,
    onLearned: (model) => parts?.preparer.outdate(model),
    deviceBytes: (pid) => devices.heldBy(pid),
    spareWorkers: configuration.swap.spareWorkers,
  })
  const contexts = new ContextFolder(directories.contexts, clock)
  const pool = new Pool({
    clock,
    limits: poolLimits(configuration, host()),
    probe,
    bus,
    load: (plan, loadOptions) => engines.load(plan, loadOptions),
    measurements: store.measurements,
    history: store.history,
    ...(trace !== undefined && { recorder: new TraceRecorder(trace.write) }),
    contexts,
  })
  await adoptContexts(pool, contexts, { clock, bus })
  const modelLists = new ModelLists({ clock, bus, engines: engines.byName, served })
  await modelLists.replace(configuration.wildcards ?? [])
  const inspector = new ModelInspector()
  const preparer = new ModelPreparer({
    resolve: (name) => registry.resolve(name),
    artifact: (spec, signal) =>
      fetchArtifact(artifacts, bus, spec, {
        signal,
        admit: (bytes) => refuseOversized(spec.id, bytes, pool.limits),
      }),
    inspect: (path) => inspector.inspect(path),
    engines: engines.byName,
    host: () => ({ ...host(), ...budgetsOf(pool.status().memory) }),
    isResident: (model) => pool.isResident(model),
    declare: (model) => pool.declare(model),
  })
  parts = {
    configuration,
    clock,
    bus,
    earlyWarnings,
    store,
    recipes,
    engines,
    pool,
    artifacts,
    registry,
    served,
    modelLists,
    inspector,
    preparer,
    live,
    host,
    home: opened.claim,
    homeDirectory: opened.temporary === undefined ? directories.home : null,
    startedAt: clock.wallTime(),
    runs: {
      clock,
      bus,
      log: store.runs,
      crashes: new CrashRecord(clock),
      live,
      prepare: (model, signal) => preparer.prepare(model, signal),
      acquire: (request) => pool.acquire(request),
      slowReader: {
        capacity: options.slowReader?.capacity ?? SLOW_READER_CAPACITY,
        rule: options.slowReader?.rule ?? 'pause',
      },
    },
    close: async () => {
      devices.close()
      modelLists.close()
      await engines.close()
      trace?.close()
      await contexts.close()
      stopFollowing()
      store.close()
      clock.close()
      opened.claim.release()
      if (opened.temporary !== undefined) await rm(opened.temporary, { recursive: true, force: true })
    },
  }
  return parts
}

/** What a kill of the last owner of this home has left: workers, and contexts that were on their way. */
async function removeLeftovers({ workers, slots }: YardDirectories, clock: Clock): Promise<void> {
  const { kept } = await endLeftovers(workers, { clock })
  // A worker of somebody who lives may use its folder there.
  if (kept.length === 0) await rm(slots, { recursive: true, force: true }).catch(() => undefined)
}

function openTrace({ recordTrace }: YardOptions, bus: EventBus): TraceFile | undefined {
  if (recordTrace === undefined) return undefined
  return new TraceFile(recordTrace, (message) => bus.emit('warning-raised', { code: 'trace_ended', message }))
}

/** What there is for models in each domain, and what of that is not promised yet. */
function budgetsOf(memory: PoolStatus['memory']): Required<Pick<HostFacts, 'budget' | 'free'>> {
  const budget: HostFacts['budget'] = {}
  const free: HostFacts['free'] = {}
  for (const [name, status] of Object.entries(memory)) {
    if (status === undefined) continue
    budget[name as MemoryDomain] = status.budget
    free[name as MemoryDomain] = Math.max(0, status.budget - status.booked)
  }
  return { budget, free }
}

/** A model's file, fetched with its progress told. @returns its path; undefined for a model without files */
export async function fetchArtifact(
  artifacts: ArtifactStore,
  bus: EventBus,
  { source }: ModelSpec,
  options: Pick<EnsureOptions, 'signal' | 'admit'>,
): Promise<string | undefined> {
  if (source === undefined) return undefined
  return await artifacts.ensure(source, {
    ...options,
    onProgress: ({ file, received, total, bytesPerSecond }) =>
      bus.emit('download-progressed', { source, file, received, total: total ?? null, bytesPerSecond }),
  })
}
