import { processTree } from '../../src/host/process-tree.ts'
import { readMemory } from '../yard/harness.ts'

const readPss = async (pid: number): Promise<number> => (await readMemory(pid)).pss

/** Looks at a server's processes from outside, again and again. */
export class ChaosWatch {
  /** The most that all workers together held, in bytes. */
  most = 0
  readings = 0
  /** Readings above the budget. */
  readonly over: string[] = []
  /** What the server itself held, reading by reading. */
  readonly server: number[] = []
  readonly #pid: number
  readonly #budget: () => number

  constructor(pid: number, budget: () => number) {
    this.#pid = pid
    this.#budget = budget
  }

  async watch(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await this.#look()
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  async #look(): Promise<void> {
    const budget = this.#budget()
    const workers = processTree(this.#pid).filter((pid) => pid !== this.#pid)
    const sizes = await Promise.all(workers.map(readPss))
    const held = sizes.reduce((sum, bytes) => sum + bytes, 0)
    this.readings++
    this.most = Math.max(this.most, held)
    this.server.push(await readPss(this.#pid))
    // Processes that are told to hold less may end what they are at first: the larger of the two budgets counts.
    if (held > Math.max(budget, this.#budget()))
      this.over.push(`${held} of ${budget} bytes by ${sizes.join(' + ')}`)
  }

  /** Bytes by which the server is larger at the end than it was after its first third: the best of each part, so that garbage does not count. */
  get growth(): number {
    const third = Math.floor(this.server.length / 3)
    return Math.min(...this.server.slice(-third)) - Math.min(...this.server.slice(third, 2 * third))
  }
}
