import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'

/** Writes a small JSON file so that readers see the old or the new content, never half of it. `durable`: survives a power cut. */
export async function writeJsonFile(path: string, value: unknown, durable = false): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(draft, 'wx')
    try {
      await file.writeFile(`${JSON.stringify(value, undefined, 2)}\n`)
      if (durable) await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
