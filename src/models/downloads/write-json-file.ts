import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'

export interface WriteJsonOptions {
  /** The content survives a power cut. */
  durable?: boolean
  /** The file is padded to whole blocks of this size, so that a full disk does not prevent it from being overwritten in place. */
  block?: number
}

/** Writes a small JSON file so that readers see the old or the new content, never half of it. */
export async function writeJsonFile(
  path: string,
  value: unknown,
  options: WriteJsonOptions = {},
): Promise<void> {
  const { durable = false, block = 1 } = options
  const text = JSON.stringify(value, undefined, 2)
  const padded = text.padEnd(Math.ceil((text.length + 1) / block) * block - 1) + '\n'
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await writeText(draft, 'wx', padded, durable)
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    if (block === 1 || (error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    await writeText(path, 'r+', padded, durable)
  }
}

async function writeText(path: string, flags: string, text: string, durable: boolean): Promise<void> {
  const file = await open(path, flags)
  try {
    await file.writeFile(text)
    if (durable) await file.sync()
  } finally {
    await file.close()
  }
}
