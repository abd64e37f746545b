import type { Stats } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { writeJsonFile } from './write-json-file.ts'

/** What is known of a file that was fetched; lies beside it as `NAME.modelyard.json`. */
export interface ArtifactRecord {
  /** The source as it was asked for. */
  source: string
  /** Address, commit and ETag it came from, where there are such. */
  url?: string
  commit?: string
  etag?: string
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
    typeof record?.source === 'string' &&
    typeof record.size === 'number' &&
    typeof record.modified === 'number' &&
    /^[0-9a-f]{64}$/.test(record.sha256 ?? '')
  )
}

/** Writes the record of a file that lies under its name. */
export async function writeRecord(
  file: string,
  facts: Omit<ArtifactRecord, 'size' | 'modified'>,
): Promise<ArtifactRecord> {
  const stats = await stat(file)
  const record = { ...facts, size: stats.size, modified: stats.mtimeMs }
  await writeJsonFile(recordPath(file), record, true)
  return record
}

/** The SHA-256 of a file, if it was computed when the file was fetched and the file has not changed since. */
export async function knownDigest(file: string, stats: Stats): Promise<string | undefined> {
  const record = await readRecord(file)
  return record?.size === stats.size && record.modified === stats.mtimeMs ? record.sha256 : undefined
}
