import type { SavedSlot } from '../engines/engine.ts'
import type { ParkOrder } from './policy/messages.ts'

/** What was written, and what it takes on disk with all that belongs to it. */
export interface ShelvedContext {
  readonly bytes: number
  /** Resolves when the file is whole and has its name; rejects when nothing came of it, and nothing is left. */
  readonly placed: Promise<void>
  /** Resolves when another process would find it; rejects when none will. */
  readonly settled: Promise<void>
}

/** Writes a slot to a file; what it says of it is of use only where the file is not whole yet. */
export type SlotWriting = (path: string) => Promise<Pick<SavedSlot, 'sealed'> | undefined>

/** Where contexts are kept on disk; what the pool needs of it. The pool decides what is in it. */
export interface ContextShelf {
  /** Has a context written to a file of its own. Resolves as soon as the engine has written it; when it rejects, nothing is left of it. */
  park(order: ParkOrder, write: SlotWriting): Promise<ShelvedContext>
  /** Resolves with the path of a context when its file has its place; there is none where nothing came of it. Never rejects. */
  placeOf(context: string): Promise<string>
  /** Deletes the file; harmless when there is none. */
  remove(context: string): void
  /** Bytes that contexts may take here in all, by what the disk has free. */
  room(): Promise<number>
}
