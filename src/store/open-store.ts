import type { Clock } from '../base/clock.ts'
import type { ModelyardError } from '../base/errors.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { YardEvent } from '../events/event-map.ts'
import { EventTable } from './event-table.ts'
import { LoadHistoryTable } from './load-history-table.ts'
import { MeasurementTable } from './measurement-table.ts'
import { ModelRecordTable } from './model-record-table.ts'
import { openDatabase } from './open-database.ts'
import { EVENT_RETENTION, MEMORY_RETENTION, RUN_RETENTION, type Retention } from './retention.ts'
import { PrefillSpeedTable } from './prefill-speed-table.ts'
import { ResponseTable } from './response-table.ts'
import { RunTable } from './run-table.ts'
import { SettingTable } from './setting-table.ts'
import { loadSqlite } from './sqlite.ts'
import { WriteQueue } from './write-queue.ts'

export interface StoreOptions {
  clock: Clock
  /** What people should know, once per trouble: a full or read-only disk, a damaged file. The store works on. */
  onProblem: (problem: ModelyardError) => void
  /** Defaults: 100,000 runs and 20,000 events, both for 30 days. */
  retention?: { runs?: Retention; events?: Retention }
}

/** All that outlives the process, in one SQLite file. Reading and writing never throw and never wait for the disk. */
export interface Store {
  /** False when the file could not be used: everything lives in memory and ends with the process. */
  readonly durable: boolean
  /** False while the disk takes nothing: the newest history waits in memory. */
  readonly writable: boolean
  readonly runs: RunTable
  readonly events: EventTable
  readonly measurements: MeasurementTable
  readonly models: ModelRecordTable
  readonly history: LoadHistoryTable
  readonly speeds: PrefillSpeedTable
  readonly settings: SettingTable
  readonly responses: ResponseTable
  /** Keeps events of this bus, and what they say of models. @returns a function that ends it */
  follow(bus: EventBus): () => void
  /** Writes what waits, now. */
  flush(): void
  /** Writes what waits and closes the file. Closing twice is harmless; what is written afterwards is dropped. */
  close(): void
}

const DEFAULT_RETENTION = { runs: RUN_RETENTION, events: EVENT_RETENTION }
const IN_MEMORY = { runs: MEMORY_RETENTION, events: MEMORY_RETENTION }

/** Opens the store at `path`. @throws ModelyardError `unsupported` for a database of a newer version, which is left as it is (M22) */
export async function openStore(path: string, options: StoreOptions): Promise<Store> {
  const { clock, onProblem } = options
  const open = await loadSqlite()
  const { database, durable } = await openDatabase(path, { open, onProblem, wallTime: clock.wallTime() })
  const retention = durable ? { ...DEFAULT_RETENTION, ...options.retention } : IN_MEMORY
  const queue = new WriteQueue({ database, clock, onProblem })
  const events = new EventTable(queue, clock, retention.events)
  const models = new ModelRecordTable(queue, clock)
  const responses = new ResponseTable(queue, clock)
  return {
    durable,
    get writable() {
      return durable && !queue.isTroubled
    },
    runs: new RunTable(queue, clock, retention.runs),
    events,
    measurements: new MeasurementTable(queue, clock),
    models,
    history: new LoadHistoryTable(queue, clock),
    speeds: new PrefillSpeedTable(queue, clock),
    settings: new SettingTable(queue, clock),
    responses,
    follow: (bus) =>
      bus.subscribe((event) => {
        events.append(event)
        recordModel(models, event)
      }),
    flush: () => queue.flush(),
    close: () => {
      responses.close()
      queue.close()
    },
  }
}

function recordModel(models: ModelRecordTable, event: YardEvent): void {
  if (event.name === 'load-finished') models.loaded(event.data.model, event.data.took)
  if (event.name === 'instance-ready' && event.data.firstToken !== null)
    models.firstToken(event.data.model, event.data.firstToken)
  if (event.name === 'load-failed') models.failed(event.data.model, event.data)
  if (event.name === 'run-finished' && SUCCESSES.has(event.data.outcome)) models.answered(event.data.model)
}

/** Outcomes of runs that were answered to the end. */
const SUCCESSES: ReadonlySet<string> = new Set(['stop', 'stop-sequence', 'length', 'tool-calls'])
