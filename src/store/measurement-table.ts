import type { Clock } from '../base/clock.ts'
import type { MeasuredFootprint, MeasuredMemory, MemoryDomain } from '../host/memory.ts'
import type { MeasurementStore } from '../pool/measurement-store.ts'
import type { WriteQueue } from './write-queue.ts'

const UPSERT = `INSERT INTO measurements (plan_key, domain, model, private, shared, updated_at) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (plan_key, domain) DO UPDATE SET model = excluded.model, private = excluded.private, shared = excluded.shared,
  updated_at = excluded.updated_at`
const SELECT = 'SELECT plan_key, domain, private, shared FROM measurements'
const FORGET = 'DELETE FROM measurements WHERE updated_at < ?'

/** Plans that were not loaded for so long are forgotten: files and options have changed since. */
const KEPT_FOR = 180 * 86_400_000

/** What loads were seen to hold. All of it lives in memory; the file is for the next start. */
export class MeasurementTable implements MeasurementStore {
  readonly #queue: WriteQueue
  readonly #clock: Clock
  readonly #known = new Map<string, MeasuredFootprint>()

  constructor(queue: WriteQueue, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
    queue.add({ sql: FORGET, values: [Math.round(clock.wallTime() - KEPT_FOR)] })
    for (const row of queue.read(SELECT)) {
      const measured = { private: Number(row['private']), shared: Number(row['shared']) }
      this.#remember(String(row['plan_key']), String(row['domain']) as MemoryDomain, measured)
    }
  }

  read(planKey: string): MeasuredFootprint | undefined {
    return this.#known.get(planKey)
  }

  write(planKey: string, model: string, measured: MeasuredFootprint): void {
    for (const [name, bytes] of Object.entries(measured)) {
      const domain = name as MemoryDomain
      const before = this.#known.get(planKey)?.[domain]
      const larger = largerOf(before, bytes ?? NOTHING)
      this.#remember(planKey, domain, larger)
      const values = [
        planKey,
        domain,
        model,
        larger.private,
        larger.shared,
        Math.round(this.#clock.wallTime()),
      ]
      this.#queue.add({ sql: UPSERT, values })
    }
  }

  #remember(planKey: string, domain: MemoryDomain, measured: MeasuredMemory): void {
    this.#known.set(planKey, { ...this.#known.get(planKey), [domain]: measured })
  }
}

const NOTHING: MeasuredMemory = { private: 0, shared: 0 }

function largerOf(a: MeasuredMemory = NOTHING, b: MeasuredMemory): MeasuredMemory {
  return {
    private: Math.round(Math.max(a.private, b.private)),
    shared: Math.round(Math.max(a.shared, b.shared)),
  }
}
