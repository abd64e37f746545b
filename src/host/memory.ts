/** A place where bytes live: `ram`, or a device such as `gpu:0`. Unified memory is one domain, `ram`. */
export type MemoryDomain = 'ram' | `gpu:${number}`

/** Bytes by what they are for. Their sum is what the holder is charged. */
export interface FootprintTerms {
  /** Model weights as they lie in memory (after repacking). */
  weights: number
  /** KV cache of all slots, counted whole. */
  context: number
  /** Compute and output buffers. */
  compute: number
  /** The process itself: runtime, engine code, tokenizer. */
  base: number
}

/** What one instance costs, per domain. Domains it does not touch are absent. */
export type Footprint = Partial<Record<MemoryDomain, FootprintTerms>>

/**
 * What a process tree was seen to hold. `private` bytes are gone when it exits; `shared` bytes are file pages (mapped weights, the
 * program and its libraries), whole, whoever else maps them (Linux: `Rss` of `/proc/PID/smaps_rollup` less its anonymous part). Their
 * share (`Pss`) is no measure of what one holds: it rises when another one goes.
 */
export interface MeasuredMemory {
  private: number
  shared: number
}

export type MeasuredFootprint = Partial<Record<MemoryDomain, MeasuredMemory>>

/** One reading of a domain on this host. `available` already respects cgroup limits and never counts swap. */
export interface DomainReading {
  total: number
  available: number
  /** Where the numbers came from, for people: `MemAvailable`, `cgroup v2 /sys/fs/cgroup/…`. */
  source: string
}

export type HostReading = Partial<Record<MemoryDomain, DomainReading>>

/** Reads the host's memory. Synchronous and cheap (well under a millisecond); a domain it cannot read is absent: unknown means no (R5). */
export interface MemoryProbe {
  read(): HostReading
}

export function footprintTotal(terms: FootprintTerms): number {
  return terms.weights + terms.context + terms.compute + terms.base
}

/** The devices among domains, in the order of their numbers. */
export function devicesAmong(domains: Partial<Record<MemoryDomain, unknown>>): MemoryDomain[] {
  const devices = (Object.keys(domains) as MemoryDomain[]).filter((domain) => domain !== 'ram')
  return devices.sort((a, b) => Number(a.slice(4)) - Number(b.slice(4)))
}
