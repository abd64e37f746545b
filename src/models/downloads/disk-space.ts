import { stat, statfs } from 'node:fs/promises'
import { formatBytes } from '../../base/bytes.ts'
import { ModelyardError } from '../../base/errors.ts'

/** @throws disk_full when the folder's file system has fewer than `need` bytes left */
export async function requireDiskSpace(folder: string, need: number): Promise<void> {
  const free = await freeSpace(folder)
  if (free !== undefined && need > free) throw diskFull(folder, need, free)
}

/** Bytes that we may still write; undefined where the system does not tell. */
export async function freeSpace(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    return undefined
  }
}

/** Bytes a file occupies on disk: a file with holes occupies less than its size. */
export async function occupiedBytes(path: string): Promise<number> {
  try {
    const { blocks, size } = await stat(path)
    return blocks === undefined ? size : blocks * 512
  } catch {
    return 0
  }
}

function diskFull(folder: string, need: number, free: number, cause?: unknown): ModelyardError {
  return new ModelyardError(
    'disk_full',
    `Not enough space in ${folder}: ${formatBytes(need)} are needed, ${formatBytes(free)} are free. ` +
      'Free some space and try again; what was fetched is kept.',
    { details: { path: folder, need, free }, cause },
  )
}

/** What writing into a folder failed with, as an error with a next step (BR-25). */
export async function writeError(folder: string, cause: unknown, need: number): Promise<unknown> {
  const code = (cause as NodeJS.ErrnoException | null)?.code
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return diskFull(folder, need, (await freeSpace(folder)) ?? 0, cause)
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
    return new ModelyardError(
      'download_failed',
      `${folder} cannot be written to (${code}). Models that are there can be served; nothing can be fetched.`,
      { details: { path: folder, retryable: false }, cause },
    )
  }
  return cause
}
