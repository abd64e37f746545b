import type { Stats } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { writeJsonFile } from './write-json-file.ts'

/** What is known of a file that was fetched; lies beside it as `NAME.modelyard.json`. */
export interface ArtifactRecord {
  /** The sources that led to it, each in its canonical writing. */
  sources: string[]
  /** Address, commit and ETag it came from, where there are such. */
  url?: string
  commit?: string
  etag?: string
  /** Names of the other files of the model, in the same folder. */
  shards?: string[]
  /** Hex. Of the bytes that were written. */
  sha256: string
  size: number
  /** Modification time in milliseconds when `sha256` was computed: a file changed since then has no known sum. */
  modified: number
  /** Milliseconds since 1970. */
  fetchedAt: number
}

const SUFFIX = '.modelyard.json'

export function recordPath(file: string): string {
  return file + SUFFIX
}

/** The record beside a file; undefined when there is none or it cannot be read: it only spares work. */
export async function readRecord(file: string): Promise<ArtifactRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(recordPath(file), 'utf8')) as Partial<ArtifactRecord> | null
    return isRecord(record) ? record : undefined
  } catch {
    return undefined
  }
}

function isRecord(record: Partial<ArtifactRecord> | null): record is ArtifactRecord {
  return (
    Array.isArray(record?.sources) &&
    typeof record.size === 'number' &&
    typeof record.modified === 'number' &&
    /^[0-9a-f]{64}$/.test(record.sha256 ?? '')
  )
}

/** Writes the record of `file`, whose bytes lie at `data` (the file itself, or its part that is about to get its name). */
export async function writeRecord(
  file: string,
  data: string,
  facts: Omit<ArtifactRecord, 'size' | 'modified'>,
): Promise<void> {
  const { size, mtimeMs } = await stat(data)
  await writeJsonFile(recordPath(file), { ...facts, size, modified: mtimeMs }, { durable: true })
}

/** Whether the file is still the one whose sum the record holds. */
export function isUntouched(record: ArtifactRecord, stats: Stats): boolean {
  return record.size === stats.size && record.modified === stats.mtimeMs
}

/** The SHA-256 of a file, if it was computed when the file was fetched and the file has not changed since. */
export async function knownDigest(file: string, stats: Stats): Promise<string | undefined> {
  const record = await readRecord(file)
  return record !== undefined && isUntouched(record, stats) ? record.sha256 : undefined
}

/** Notes that another source led to a file that is there already, so that it is found without asking anybody. */
export async function addSource(file: string, source: string): Promise<void> {
  const record = await readRecord(file)
  if (record === undefined || record.sources.includes(source)) return
  const sources = [...record.sources, source]
  // A models folder that is read-only costs the question the next time, nothing else (BR-25).
  await writeJsonFile(recordPath(file), { ...record, sources }).catch(() => undefined)
}
