import type { Clock } from '../base/clock.ts'
import type { ModelyardError } from '../base/errors.ts'
import type { YardPort } from '../dialects/yard-port.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { ControlPort } from './control-port.ts'

/** Ready is more than alive: the yard takes requests now. Further fields are shown as they are and must not be secret. */
export interface Health {
  ready: boolean
  [fact: string]: unknown
}

/** Keys of the inference APIs and of the control API. Without admin keys the inference keys open both; admin keys always do. */
export interface ApiKeys {
  inference: readonly string[]
  admin: readonly string[]
}

export interface ServerLimits {
  /** Most bytes of a request's body; 64 MiB. */
  bodyBytes: number
  /** Deepest nesting of a JSON body; 128. */
  jsonDepth: number
  /** Milliseconds without a byte until an unfinished upload is refused with 408; 60 s. */
  bodyIdle: number
  /** Milliseconds of silence after which a waiting stream gets a sign of life; 10 s. */
  heartbeat: number
}

/** A line of the access log. Neither bodies nor queries: no text of users. */
export interface AccessRecord {
  id: string
  method: string
  path: string
  /** 499 when the client left before the end. */
  status: number
  milliseconds: number
  error?: ModelyardError
}

export interface ServerOptions {
  port: YardPort
  events: EventBus
  clock: Clock
  /** What the control API needs beyond the port; absent: those routes are not there. */
  control?: ControlPort
  /** The JSON of `/api/yard/state`. */
  stateOf: () => unknown
  health: () => Health
  /** For `/readyz`: the same, having asked everybody; absent: `health` says it all. */
  examine?: () => Promise<Health>
  keys?: ApiKeys
  /** Origins of browsers that may use the server; `*` stands for any text. */
  cors?: { origins: readonly string[] }
  /** Host names, besides loopback names and IP addresses, under which a keyless server may be called (BR-46). */
  allowedHosts?: readonly string[]
  limits?: Partial<ServerLimits>
  log?: (record: AccessRecord) => void
}

export const DEFAULT_LIMITS: ServerLimits = {
  bodyBytes: 64 * 1024 ** 2,
  jsonDepth: 128,
  bodyIdle: 60_000,
  heartbeat: 10_000,
}

/** Pages of this machine and desktop applications; never `null`, which any page's sandboxed frame can send. */
export const DEFAULT_ORIGINS: readonly string[] = [
  'http://localhost',
  'https://localhost',
  'http://localhost:*',
  'https://localhost:*',
  'http://127.0.0.1',
  'https://127.0.0.1',
  'http://127.0.0.1:*',
  'https://127.0.0.1:*',
  'http://[::1]',
  'https://[::1]',
  'http://[::1]:*',
  'https://[::1]:*',
  'app://*',
  'file://*',
  'tauri://*',
  'vscode-webview://*',
  'vscode-file://*',
]
