import type { ContextsSummary, ModelContextStatus } from './context-listing.ts'
import type { FootprintTerms, MemoryDomain } from '../host/memory.ts'

/** What `/api/yard/state`, `ps` and the library show. Never a word of a user's text (F10). Times are milliseconds. */
export interface PoolStatus {
  instances: InstanceStatus[]
  queue: TicketStatus[]
  models: Record<string, ModelPoolStatus>
  memory: Partial<Record<MemoryDomain, DomainStatus>>
  threads: { limit: number; active: number }
  contexts: ContextsSummary
  runs: { active: number; limit: number }
}

export interface InstanceStatus {
  id: string
  model: string
  state: 'loading' | 'warming' | 'ready' | 'draining' | 'unloading'
  /** 0…1 while loading, where the engine reports it. */
  progress?: number
  pid?: number
  contextSize: number
  threads: number
  slots: {
    index: number
    leased: boolean
    /** size of the cached beginning in characters */ cached: number
  }[]
  leases: number
  /** Bytes booked per domain: the larger of promise and measurement. */
  booked: Partial<Record<MemoryDomain, number>>
  estimated: Partial<Record<MemoryDomain, FootprintTerms>>
  measured?: Partial<Record<MemoryDomain, number>>
  /** Milliseconds since the last grant or release. */
  idleFor: number
  /** Milliseconds until the idle unload; null = never. */
  expiresIn: number | null
}

export interface TicketStatus {
  id: string
  model: string
  priority: string
  waitingFor: number
  position: number
  /** What it waits for, with numbers. */
  reason: string
}

export interface ModelPoolStatus {
  state:
    | 'unloaded'
    | 'queued'
    | 'evicting'
    | 'loading'
    | 'warming'
    | 'ready'
    | 'draining'
    | 'unloading'
    | 'failed'
  pinned: boolean | 'soft'
  loads: number
  evictions: number
  contexts: ModelContextStatus
  lastError?: { code: string; message: string; retryIn: number }
}

export interface DomainStatus {
  budget: number
  absolute: number
  booked: number
  /** By state of the holder. */
  loading: number
  resident: number
  releasing: number
  host?: { total: number; available: number; source: string }
}
