/** Facts the yard tells the world. Plain data, noun-past names, never users' text (P10). */
export interface YardEvents {
  'yard-started': { home: string | null }
  'yard-stopped': Record<string, never>
  'load-started': { model: string; instance: string; bytes: number; reason: string }
  'load-progressed': { model: string; instance: string; fraction: number }
  'load-finished': { model: string; instance: string; took: number }
  'load-failed': {
    model: string
    instance: string
    code: string
    failure: string
    message: string
    retryIn: number
    logTail: string[]
  }
  'instance-ready': {
    model: string
    instance: string
    took: number
    measured: number
    /** Milliseconds its first token took. */
    firstToken: number | null
  }
  'unload-started': { model: string; instance: string; reason: string }
  'unload-finished': { model: string; instance: string; released: number; took: number }
  'instance-exited': { model: string; instance: string; reason: string; logTail: string[] }
  'ticket-queued': { model: string; ticket: string; position: number; reason: string }
  'lease-granted': {
    model: string
    instance: string
    slot: number
    lease: string
    queueMs: number
    loadMs: number
    reason: string
  }
  'lease-released': { model: string; instance: string; slot: number; lease: string; heldMs: number }
  'context-parked': { model: string; context: string; tokens: number; bytes: number; took: number }
  'context-restored': { model: string; instance: string; context: string; tokens: number; took: number }
  'context-dropped': { model: string; context: string; bytes: number; reason: string }
  'ticket-refused': { model: string; ticket: string; code: string; message: string }
  'run-finished': {
    run: string
    model: string
    outcome: string
    promptTokens: number
    completionTokens: number
    cachedTokens: number
  }
  'download-progressed': {
    source: string
    file: string
    received: number
    total: number | null
    bytesPerSecond: number
  }
  'download-finished': { source: string; path: string; bytes: number }
  'config-reloaded': { changed: string[]; added: string[]; removed: string[] }
  /** Models that an endpoint lists, by the entry of the configuration (`lab/*`). */
  'model-list-changed': { entry: string; added: string[]; vanished: string[] }
  'settings-changed': { keys: string[] }
  'config-rejected': { file: string; message: string }
  'warning-raised': { code: string; message: string }
}

export type YardEventName = keyof YardEvents

/** One event as subscribers see it. */
export type YardEvent = {
  [Name in YardEventName]: { name: Name; id: number; at: number; data: YardEvents[Name] }
}[YardEventName]
