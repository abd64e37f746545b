import type { Clock } from '../base/clock.ts'
import type { YardDirectories } from '../config/directories.ts'
import type { KeyboardInput } from './chat/keyboard.ts'
import type { ExitCode } from './exit-codes.ts'
import type { Output } from './output.ts'
import type { YardClient } from './yard-client.ts'

/** Options every command that needs a yard has. */
export interface YardOptionsOfCommand {
  /** Configuration file; counts only when the yard runs in this process. */
  config?: string
  /** False with `--no-install`: a missing engine is an error instead of an installation. */
  install?: boolean
  json?: boolean
  verbose?: boolean
}

/** What a command wants of the yard it opens. */
export interface YardWishes {
  /** Models named on the command line. */
  models?: readonly string[]
  /** They are to run: what their engines lack is installed. Default false. */
  toRun?: boolean
}

/** All that a command knows of the world outside; tests hand in their own. */
export interface CommandContext {
  readonly stdin: KeyboardInput
  readonly out: Output
  readonly err: Output
  readonly clock: Clock
  readonly environment: Record<string, string | undefined>
  /** Where this user's yard keeps its things. */
  readonly directories: YardDirectories
  /** Fires at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal
  /** Attaches to the running server of this home, or makes a yard in this process (C0). */
  openYard(options: YardOptionsOfCommand, wishes?: YardWishes): Promise<YardClient>
}

/** What a command comes to. Nothing returned means 0, or the code of the signal that ended it early. */
export type CommandResult = Promise<ExitCode | void>
