import type { AcquireRequest, Lease } from './pool/lease.ts'
import type { PoolStatus } from './pool/pool-status.ts'
import type { Pool } from './pool/pool.ts'
import type { ModelPreparer } from './runs/model-preparer.ts'

const NEVER = new AbortController().signal

/** Leases for code of one's own, beside all other requests: the same queue, the same rules. Models may be named by alias. */
export class YardPool {
  readonly #pool: Pool
  readonly #preparer: ModelPreparer

  constructor(pool: Pool, preparer: ModelPreparer) {
    this.#pool = pool
    this.#preparer = preparer
  }

  /**
   * Waits for the right to use a slot, loading the model if need be; a model that is not here yet is fetched first, which `timeout`
   * does not count. @throws ModelyardError `aborted`, `timeout`, `queue_full`, `model_not_found`, `model_too_large`,
   *   `insufficient_memory`, `model_load_failed`, the engine's own, `shutting_down`
   */
  async acquire(request: AcquireRequest): Promise<Lease> {
    const { id } = await this.#preparer.prepare(request.model, request.signal ?? NEVER)
    return await this.#pool.acquire({ ...request, model: id })
  }

  /** A lease if one is to be had at this moment without passing anybody; never waits, never loads. */
  tryAcquire(request: AcquireRequest): Lease | undefined {
    const { id } = this.#preparer.resolve(request.model)
    return this.#pool.isResident(id) ? this.#pool.tryAcquire({ ...request, model: id }) : undefined
  }

  /** Who is in memory, who runs, who waits, and what it costs. Never users' text. */
  status(): PoolStatus {
    return this.#pool.status()
  }
}
