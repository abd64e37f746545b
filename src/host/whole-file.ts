import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createId } from '../base/ids.ts'

/** The text of a file; undefined when there is none. Throws for every other reason. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function writePart(path: string, text: string): string {
  const part = `${path}.${createId('')}.part`
  writeFileSync(part, text, { mode: 0o600 })
  return part
}

/** Replaces a file's content in one step: readers see the old or the new, never a part. */
export function replaceWhole(path: string, text: string): void {
  renameSync(writePart(path, text), path)
}

/** Creates a file with its whole content in one step; false when it exists. */
export function createWhole(path: string, text: string): boolean {
  const part = writePart(path, text)
  try {
    linkSync(part, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    return createExclusive(path, text)
  } finally {
    rmSync(part, { force: true })
  }
}

/** For file systems without hard links; a reader may see the file empty for a moment, and tries again. */
function createExclusive(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
