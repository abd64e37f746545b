import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { abortError } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { splitRanges } from './byte-range.ts'
import { requireDiskSpace, writeError } from './disk-space.ts'
import { RemoteFileChanged, transferError } from './download-error.ts'
import { fetchRange, fetchWhole, type FetchOptions } from './fetch-range.ts'
import { fileDigest } from './file-digest.ts'
import type { HttpClient } from './http-client.ts'
import { discardPart, PartFile } from './part-file.ts'
import { probeFile, type RemoteFacts } from './probe-file.ts'
import type { ProgressMeter } from './progress-meter.ts'
import { type RetryOptions, withRetries } from './retry.ts'

export interface DownloadRequest {
  url: URL
  /** Path of the complete file. Its part lies beside it meanwhile. */
  target: string
  /** What is promised of the file, where it is known beforehand. */
  size?: number
  sha256?: string
  signal: AbortSignal
  meter: ProgressMeter
  /** Milliseconds until the server must have answered first; then it counts as unreachable and is not tried again. */
  answerWithin?: number
  /** Told the size, where the server tells it, before the first byte is kept; what it throws ends the download. */
  admit?: (bytes: number) => void | Promise<void>
}

export interface DownloadTools {
  http: HttpClient
  clock: Clock
  /** Connections at once for a large file. Default 4. */
  parts?: number
  /** Bytes from which a file is fetched in parts. Default 64 MiB. */
  parallelFrom?: number
  attempts?: number
  firstDelay?: number
}

export interface Downloaded {
  /** Hex, of the bytes that were written. */
  sha256: string
  validator?: string
}

/** Times a file is begun anew because it changed on the server or came out wrong after a resume. */
const MOST_RESTARTS = 3
const SAVE_EVERY = 1000

/**
 * Fetches a file: resumed where an earlier try stopped, in parallel parts when it is large, retried with growing waits, checked against
 * its promised size and sum. `publish` is called with the verified part file and gives it its name. The caller holds the file's lock.
 * @throws ModelyardError `download_failed`, `checksum_mismatch`, `disk_full`, `aborted`; the part stays for the next try
 */
export async function downloadFile(
  request: DownloadRequest,
  tools: DownloadTools,
  publish: (part: PartFile, downloaded: Downloaded) => Promise<void>,
): Promise<void> {
  await makeFolder(dirname(request.target))
  for (let restart = 0; ; restart++) {
    const outcome = await new Download(request, tools).run(publish).catch((error: unknown) => {
      throw request.signal.aborted ? abortError(request.signal) : error
    })
    if (outcome === 'done') return
    await discardPart(request.target)
    if (restart >= MOST_RESTARTS) {
      throw transferError(request.url, `${outcome}; begun anew ${restart} times`, { retryable: false })
    }
  }
}

/** Makes a folder and its parents. @throws ModelyardError when it cannot be written to (BR-25) */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch(async (error: unknown) => {
    throw await writeError(folder, error, 0)
  })
}

/** One try from probe to name. */
class Download {
  readonly #request: DownloadRequest
  readonly #tools: DownloadTools
  #savedAt: number

  constructor(request: DownloadRequest, tools: DownloadTools) {
    this.#request = request
    this.#tools = tools
    this.#savedAt = tools.clock.now()
  }

  /** 'done', or the reason to begin anew. */
  async run(publish: (part: PartFile, downloaded: Downloaded) => Promise<void>): Promise<string> {
    const facts = await this.#probe()
    if (facts.size !== null) await this.#request.admit?.(facts.size)
    const part = await this.#openPart(facts)
    try {
      await requireDiskSpace(dirname(part.path), await part.bytesToCome())
      await this.#fetch(part, facts)
      const sha256 = await this.#digest(part)
      if (await this.#isWrong(part, sha256)) return 'the bytes that were kept from an earlier try are wrong'
      const { validator } = part.state
      await publish(part, { sha256, ...(validator === undefined ? {} : { validator }) })
      return 'done'
    } catch (error) {
      if (error instanceof RemoteFileChanged) return error.message
      throw error
    } finally {
      await part.suspend()
    }
  }

  async #probe(): Promise<RemoteFacts> {
    const { url, size, sha256, signal, answerWithin } = this.#request
    const retry =
      answerWithin === undefined ? this.#retryOptions(signal) : { ...this.#retryOptions(signal), attempts: 1 }
    const facts = await withRetries(async () => probeFile(this.#tools.http, url, signal, answerWithin), retry)
    if (size !== undefined && facts.size !== null && facts.size !== size) {
      throw transferError(url, `has ${facts.size} bytes; ${size} were promised`, { retryable: false })
    }
    if (facts.size === 0) throw transferError(url, 'is empty (0 bytes)', { retryable: false })
    const promised = sha256 ?? facts.sha256
    return {
      ...facts,
      size: facts.size ?? size ?? null,
      ...(promised === undefined ? {} : { sha256: promised }),
    }
  }

  #openPart({ size, validator, sha256 }: RemoteFacts): Promise<PartFile> {
    const { parts = 4, parallelFrom } = this.#tools
    return PartFile.open(this.#request.target, {
      url: this.#request.url.href,
      size,
      ...(validator === undefined ? {} : { validator }),
      ...(sha256 === undefined ? {} : { sha256 }),
      ranges: splitRanges(size ?? 0, parts, parallelFrom),
    })
  }

  async #fetch(part: PartFile, facts: RemoteFacts): Promise<void> {
    const { signal, url } = this.#request
    const stop = new AbortController()
    const both = AbortSignal.any([signal, stop.signal])
    const onBytes = (): void => this.#count(part)
    const options: FetchOptions = {
      http: this.#tools.http,
      url,
      part,
      ranges: facts.ranges,
      signal: both,
      onBytes,
    }
    onBytes()
    if (facts.size === null) await withRetries(async () => fetchWhole(options), this.#retryOptions(both))
    else await this.#fetchRanges(part, options, stop)
    await part.sync()
  }

  /** Side by side where the server can; the first that fails for good stops the others, and all are waited for. */
  async #fetchRanges(part: PartFile, options: FetchOptions, stop: AbortController): Promise<void> {
    const { ranges } = part.state
    if (!options.ranges) {
      const size = part.state.size ?? 0
      part.state.ranges = [{ start: 0, end: size, done: ranges.length === 1 ? (ranges[0]?.done ?? 0) : 0 }]
    }
    const failures: unknown[] = []
    const all = part.state.ranges.map(async (range) => {
      const retry = this.#retryOptions(options.signal)
      await withRetries(
        async () => fetchRange(range, options),
        retry,
        () => range.done,
      ).catch((error: unknown) => {
        failures.push(error)
        stop.abort()
      })
    })
    await Promise.all(all)
    if (failures.length > 0) throw failures[0]
  }

  #count(part: PartFile): void {
    this.#request.meter.update('downloading', part.received, part.state.size)
    const now = this.#tools.clock.now()
    if (now - this.#savedAt < SAVE_EVERY) return
    this.#savedAt = now
    // A failed note costs at most a second's bytes of a later resume.
    part.save().catch(() => undefined)
  }

  async #digest(part: PartFile): Promise<string> {
    const { meter, signal } = this.#request
    const total = part.received
    meter.update('verifying', 0, total)
    return fileDigest(part.path, signal, (bytes) => meter.update('verifying', bytes, total))
  }

  /** @returns true when a resumed file is to be begun anew. @throws checksum_mismatch when a fresh one is wrong */
  async #isWrong(part: PartFile, actual: string): Promise<boolean> {
    const promised = part.state.sha256
    if (promised === undefined || promised === actual) return false
    if (part.resumed > 0) return true
    const { url, target } = this.#request
    await part.discard()
    throw new ModelyardError(
      'checksum_mismatch',
      `${url.origin}${url.pathname} does not have the bytes that were promised: SHA-256 ${actual}, expected ${promised}. Nothing was kept.`,
      { details: { path: target, expected: promised, actual } },
    )
  }

  #retryOptions(signal: AbortSignal): RetryOptions {
    const { clock, attempts, firstDelay } = this.#tools
    return {
      clock,
      signal,
      ...(attempts === undefined ? {} : { attempts }),
      ...(firstDelay === undefined ? {} : { firstDelay }),
    }
  }
}
