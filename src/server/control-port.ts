import type { ActivityStatus } from '../runs/live-runs.ts'
import type { ModelDescription } from '../dialects/yard-port.ts'
import type { ServedList } from '../models/served-models.ts'
import type { RunQuery, RunRecord } from '../runs/run-log.ts'

/** One setting as the control API and `modelyard settings` show it (M2). */
export interface SettingStatus {
  key: string
  /** As it was written where it comes from; null by default. */
  value: unknown
  /** Later ones give way to earlier ones. */
  origin: 'command-line' | 'environment' | 'settings' | 'file' | 'default'
  /** What holds now in plain units (bytes per domain, milliseconds, numbers); null where there is no limit or the model decides. */
  effective: unknown
  /** A stored value that something with more weight hides. */
  hidden?: unknown
  /** What an allowed value brings about that nobody may have meant. */
  warning?: string
  description: string
}

/** Why something is as it is (R19). Sentences with numbers, never a word of a user's text. */
export interface Explanation {
  /** What was asked about: a run, or a model. */
  subject: 'run' | 'model'
  id: string
  model: string
  /** One after the other, the most important first. */
  reasons: string[]
  /** How far a run has come that has not ended. */
  state?: ActivityStatus['state']
  /** The record of the run; absent for models, and while it has not ended. */
  run?: RunRecord
  /** What happened to it and around it, oldest first. */
  events: { at: number; name: string; text: string }[]
}

/** What the control API wants of a yard beside what dialects do. */
export interface ControlPort {
  readonly settings: {
    list(): SettingStatus[]
    /** @throws ModelyardError `invalid_request`, `model_not_found` */
    change(changes: Readonly<Record<string, unknown>>): Promise<SettingStatus[]>
  }
  /** A model with all that is known of it. @throws ModelyardError `model_not_found` */
  describeModel(name: string): Promise<ModelDescription>
  /** Asks the endpoints of all `prefix*` entries which models they have. What cannot be asked says so in its list. */
  refreshModelLists(): Promise<ServedList[]>
  /** @throws ModelyardError `model_not_found` */
  pin(model: string, pinned: boolean | 'soft'): Promise<void>
  /** Newest first. */
  runs(query: RunQuery): RunRecord[]
  /** By the id of a run (`run_…`), or of the request it was for (`req_…`). */
  run(id: string): RunRecord | undefined
  /** @throws ModelyardError `not_found` for what is neither a run, a request nor a model */
  why(name: string): Promise<Explanation>
  /** Where an instance's output is kept, or its last lines where no file is. @throws ModelyardError `not_found` */
  logOf(instanceOrModel: string): { path: string } | { lines: string[] }
  /** What the machine and the pool did of late; `since` in milliseconds since 1970. */
  telemetry(since?: number): object
  /** In the text format of Prometheus. */
  metrics(): Promise<string>
}
