import { rm } from 'node:fs/promises'
import { SystemClock, type Clock } from './base/clock.ts'
import { SteadyClock } from './base/steady-clock.ts'
import { checkYardOptions } from './check-yard-options.ts'
import { environmentVariable, libraryDirectories } from './config.ts'
import { layeredConfiguration } from './config/layered-configuration.ts'
import type { YardDirectories } from './config/directories.ts'
import { poolLimits } from './config/pool-limits.ts'
import type { YardConfiguration } from './config/yard-configuration.ts'
import { ContextFolder } from './contexts/context-folder.ts'
import { EventBus } from './events/event-bus.ts'
import type { YardEvent } from './events/event-map.ts'
import type { HomeClaim } from './host/home-lock.ts'
import { endLeftovers } from './host/worker-records.ts'
import { IsolatedEngines } from './isolated-engines.ts'
import { Pool } from './pool/pool.ts'
import { TraceRecorder } from './pool/trace-recorder.ts'
import { CrashRecord } from './runs/crash-record.ts'
import { refuseOversized } from './runs/fetch-limit.ts'
import { LiveRuns } from './runs/live-runs.ts'
import { ModelPreparer } from './runs/model-preparer.ts'
import type { RunSurroundings } from './runs/run-surroundings.ts'
import { openStore, type Store } from './store/open-store.ts'
import { TraceFile } from './trace-file.ts'
import { openHome, type OpenedHome } from './yard-home.ts'
import { fetchArtifact, knowModels, type KnownModels } from './yard-known-models.ts'
import { budgetsOf, watchMachine, type Machine } from './yard-machine.ts'
import { ModelLists } from './yard-model-lists.ts'
import type { YardOptions } from './yard-options.ts'
import { adoptContexts } from './yard-contexts.ts'
import { withStoredSettings } from './stored-settings.ts'
import type { StateSources } from './yard-state.ts'
import { YardTelemetry } from './yard-telemetry.ts'

/** Characters a reader may lag behind before its run pauses (P16): more than any answer that fits a context of 128k tokens. */
const SLOW_READER_CAPACITY = 4_000_000

const MOST_WARNINGS = 20

/** All parts of an open yard. */
export interface YardParts extends Omit<StateSources, 'registry' | 'served' | 'kinds'>, KnownModels {
  configuration: YardConfiguration
  bus: EventBus
  /** Takes the warnings that were raised before anybody listened. */
  earlyWarnings: () => YardEvent[]
  engines: IsolatedEngines
  modelLists: ModelLists
  store: Store
  devices: Machine['devices']
  telemetry: YardTelemetry
  home: HomeClaim
  runs: RunSurroundings
  host: Machine['host']
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
  const { store, configuration } = await openHistory(wanted, clock, bus)
  let parts: YardParts | undefined
  const live = new LiveRuns()
  const models = knowModels(configuration, () => parts?.configuration ?? configuration, store, clock)
  await Promise.all([removeLeftovers(directories, clock), models.registry.refresh()])
  const stopFollowing = store.follow(bus)
  const machine = await watchMachine(clock, bus, options.memoryProbe)
  const engines = new IsolatedEngines({
    clock,
    directories,
    custom: [...(options.engines ?? []), ...(configuration.engines ?? [])],
    environmentVariable,
    onLearned: (model) => parts?.preparer.outdate(model),
    deviceBytes: (pid) => machine.devices.heldBy(pid),
    speeds: store.speeds,
    spareWorkers: configuration.swap.spareWorkers,
  })
  const contexts = new ContextFolder(directories.contexts, clock)
  const pool = new Pool({
    clock,
    limits: poolLimits(configuration, machine.host()),
    probe: machine.probe,
    bus,
    load: (plan, loadOptions) => engines.load(plan, loadOptions),
    measurements: store.measurements,
    history: store.history,
    ...(trace !== undefined && { recorder: new TraceRecorder(trace.write) }),
    contexts,
  })
  await adoptContexts(pool, contexts, { clock, bus })
  const modelLists = new ModelLists({ clock, bus, engines: engines.byName, served: models.served })
  await modelLists.replace(configuration.wildcards ?? [])
  const preparer = createPreparer({ ...models, bus, engines, pool, host: machine.host })
  followWishes(bus, preparer, pool)
  const telemetry = new YardTelemetry({
    clock,
    status: () => pool.status(),
    devices: () => machine.devices.activity(),
  })
  telemetry.start()
  parts = {
    configuration,
    clock,
    bus,
    earlyWarnings,
    store,
    ...models,
    devices: machine.devices,
    telemetry,
    engines,
    pool,
    modelLists,
    preparer,
    live,
    host: machine.host,
    home: opened.claim,
    homeDirectory: opened.temporary === undefined ? directories.home : null,
    startedAt: clock.wallTime(),
    runs: runSurroundings(options, { clock, bus, store, live, preparer, pool }),
    close: async () => {
      telemetry.close()
      machine.devices.close()
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

/** The database, and the configuration with what was changed at run time in earlier lives of this home. */
async function openHistory(
  wanted: YardConfiguration,
  clock: Clock,
  bus: EventBus,
): Promise<Pick<YardParts, 'store' | 'configuration'>> {
  const warn = (code: string, message: string): void => bus.emit('warning-raised', { code, message })
  const store = await openStore(wanted.directories.database, {
    clock,
    onProblem: ({ code, message }) => warn(code, message),
  })
  const configuration = withStoredSettings(wanted, store.settings, (message) =>
    warn('config_invalid', message),
  )
  // What was kept goes where nothing is to be kept any longer.
  store.responses.keep(configuration.server.responses)
  return { store, configuration }
}

type PreparerParts = Pick<
  YardParts,
  'registry' | 'artifacts' | 'inspector' | 'bus' | 'engines' | 'pool' | 'host'
>

function createPreparer({
  registry,
  artifacts,
  inspector,
  bus,
  engines,
  pool,
  host,
}: PreparerParts): ModelPreparer {
  return new ModelPreparer({
    resolve: (name) => registry.resolve(name),
    artifact: (spec, signal) =>
      fetchArtifact({ artifacts, bus, engines }, spec, {
        signal,
        admit: (bytes) => refuseOversized(spec.id, bytes, pool.limits),
      }),
    inspect: (path) => inspector.inspect(path),
    engines: engines.byName,
    host: () => ({ ...host(), ...budgetsOf(pool.status().memory) }),
    isResident: (model) => pool.isResident(model),
    declare: (model) => pool.declare(model),
    refusalOf: (model, force) => pool.refusalOf(model, force),
  })
}

/** M3: a wish lasts while a copy of its model is there, or somebody waits for one. */
function followWishes(bus: EventBus, { wishes }: ModelPreparer, pool: Pool): void {
  bus.subscribe(({ name, data }) => {
    if (name === 'instance-ready') wishes.noteReady(data.model)
    else if (name === 'unload-finished' && !pool.isUsed(data.model)) wishes.noteUnloaded(data.model)
    else if (name === 'load-failed' && !pool.isUsed(data.model)) wishes.forget(data.model)
  })
}

function runSurroundings(
  { slowReader }: YardOptions,
  {
    clock,
    bus,
    store,
    live,
    preparer,
    pool,
  }: Pick<YardParts, 'clock' | 'bus' | 'store' | 'live' | 'preparer' | 'pool'>,
): RunSurroundings {
  return {
    clock,
    bus,
    log: store.runs,
    crashes: new CrashRecord(clock),
    live,
    prepare: (model, signal, wish) => preparer.prepare(model, signal, { ...(wish && { wish }) }),
    acquire: (request) => pool.acquire(request),
    slowReader: {
      capacity: slowReader?.capacity ?? SLOW_READER_CAPACITY,
      rule: slowReader?.rule ?? 'pause',
    },
  }
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
