import type { Clock } from '../../base/clock.ts'
import type { FileFormat } from '../model-facts.ts'

/** How files are fetched; a setting each, defaults where absent. */
export interface TransferOptions {
  /** Address of the model hub or a mirror of it. Default the public hub. */
  endpoint?: string
  /** Sent to the hub's own address and nowhere else. */
  token?: string
  /** Address of an HTTP proxy. */
  proxy?: string
  /** Milliseconds until a connection must stand. Default 3,000. */
  connectTimeout?: number
  /** Milliseconds without a byte after which a connection counts as dead. Default 30,000. */
  stallTimeout?: number
  /** Connections at once for a large file. Default 4. */
  parts?: number
  /** Bytes from which a file is fetched in parts. Default 64 MiB. */
  parallelFrom?: number
  /** Tries in a row without progress. Default 5. */
  attempts?: number
  /** Milliseconds before the second try; doubled each time. Default 500. */
  firstDelay?: number
  pip?: PipOptions
}

/** How the user's own pip is called. */
export interface PipOptions {
  /** Default `python3 -m pip`, else `python -m pip`. */
  command?: readonly [string, ...string[]]
  /** Further arguments, for example where to look instead of the usual index. */
  arguments?: readonly string[]
}

/** One fetch on its way. */
export interface TransferContext {
  clock: Clock
  /** The models folder. */
  folder: string
  options: TransferOptions
  signal: AbortSignal
  /** Canonical writing of what was asked for: kept in the records. */
  source: string
  /** Compute sums of files that are there. */
  verify: boolean
  /** Milliseconds until a host must have answered first, where there is another one to try. */
  answerWithin?: number
  /** Told the bytes of the model before the first one is kept; what it throws ends the fetch. */
  admit?: (bytes: number) => void | Promise<void>
  /** Told what files will be fetched before the first byte of them is kept, undefined where that does not show; what it throws ends the fetch. */
  admitFormat?: (format: FileFormat | undefined) => void | Promise<void>
}

export const DEFAULT_ENDPOINT = 'https://huggingface.co'
