import type { Clock } from '../../base/clock.ts'
import type { PromptMaker } from './prompt.ts'
import type { ServerConnection } from '../supervision/server-connection.ts'

/** What a run needs of the model it runs on. */
export interface TextHost extends PromptMaker {
  connection: ServerConnection
  clock: Clock
  /** A token came or a prefill moved. */
  moved: () => void
  /** So many tokens of a prompt took so many milliseconds until the first of the answer. */
  evaluated: (tokens: number, took: number) => void
}
