import type { ParkOrder } from './policy/messages.ts'

/** What was written, and what it takes on disk with all that belongs to it. */
export interface ShelvedContext {
  readonly bytes: number
}

/** Where contexts are kept on disk; what the pool needs of it. The pool decides what is in it. */
export interface ContextShelf {
  /** Has a context written to a file of its own. When it resolves, the file can be read; when it rejects, nothing is left of it. */
  park(order: ParkOrder, write: (path: string) => Promise<unknown>): Promise<ShelvedContext>
  pathOf(context: string): string
  /** Deletes the file; harmless when there is none. */
  remove(context: string): void
  /** Bytes that contexts may take here in all, by what the disk has free. */
  room(): Promise<number>
}
