import { refuseSchema } from '../refuse-grammar.ts'

/** Characters and values that are looked at while a schema is unfolded: part of a second, a thousand times what usual schemas take. */
const MOST_STEPS = 10_000_000

/**
 * Counts what a schema costs while it is unfolded. A small schema can ask for each of its values to be compared with each of its
 * alternatives, and for what refers to others twice to be read 2^n times; neither shows in the size of what comes out of it.
 */
export class WorkLimit {
  #spent = 0

  /** @throws invalid_request when the schema has cost more than it may */
  spend(steps: number): void {
    this.#spent += steps
    if (this.#spent <= MOST_STEPS) return
    refuseSchema(
      '',
      `it takes more than ${MOST_STEPS} steps to unfold; use fewer alternatives, shorter enumerations or fewer references.`,
    )
  }
}
