import { type Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type ArtifactRecord, isUntouched, readRecord, writeRecord } from './artifact-record.ts'
import { fileDigest } from './file-digest.ts'
import type { ProgressMeter } from './progress-meter.ts'

/** What a file must be to be taken as it lies there. */
export interface Expectation {
  /** Bytes, where known. */
  size?: number
  /** Hex, where known. */
  sha256?: string
  check: SumCheck
}

/**
 * When the sum of a file that is there is computed: `never` (lists must be quick), when it was `touched` since it was fetched, or
 * `always`.
 */
export type SumCheck = 'never' | 'touched' | 'always'

/**
 * Whether the file at `path` is there and right. Sizes always count; the sum is computed when asked for, or when the file was touched
 * since it was fetched, so that a corrupt file of the right size is found (F28). An empty file is never right.
 */
export async function isSoundFile(
  path: string,
  expected: Expectation,
  signal: AbortSignal,
  meter: ProgressMeter,
): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined)
  if (stats === undefined || !stats.isFile() || stats.size === 0) return false
  if (expected.size !== undefined && expected.size !== stats.size) return false
  const record = await readRecord(path)
  const sum = expected.sha256 ?? record?.sha256
  // Put there by hand, and nobody promised anything about it.
  if (sum === undefined) return true
  if (expected.check === 'never') return record === undefined || record.size === stats.size
  const isKnown = expected.check === 'touched' && record !== undefined && isUntouched(record, stats)
  if (isKnown) return record.sha256 === sum
  return (await digestOf(path, stats, signal, meter)) === sum && (await renewRecord(path, sum, record))
}

async function digestOf(
  path: string,
  stats: Stats,
  signal: AbortSignal,
  meter: ProgressMeter,
): Promise<string> {
  meter.update('verifying', 0, stats.size)
  return fileDigest(path, signal, (bytes) => meter.update('verifying', bytes, stats.size))
}

/** The file is as it was, only its date is not; a folder that cannot be written to costs the sum each time. */
async function renewRecord(path: string, sha256: string, record: ArtifactRecord | undefined): Promise<true> {
  const facts = record ?? { sources: [], fetchedAt: 0 }
  await writeRecord(path, path, { ...facts, sha256 }).catch(() => undefined)
  return true
}
