import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelyardError } from '../../../base/errors.ts'
import { ProcessLock } from '../../../host/process-lock.ts'

/** The folder in which llama-server is compiled. What is compiled in it stays when a compilation ends early: the next one goes on there. */
export interface Workshop {
  readonly folder: string
  /** Nothing of it is needed any more. */
  remove(): Promise<void>
  /** Others may use it. Calling it twice is harmless. */
  release(): void
}

function places(enginesFolder: string): { folder: string; lock: string; identity: string } {
  const folder = join(enginesFolder, '.llama-server-build')
  return { folder, lock: `${folder}.lock`, identity: join(folder, 'identity.json') }
}

/**
 * Opens the workshop for this process alone. One that was left behind is used again if it is about the same source and the same
 * settings, which `identity` says. @throws ModelyardError `engine_missing` while another process compiles
 */
export async function openWorkshop(enginesFolder: string, identity: string): Promise<Workshop> {
  const { folder, lock: path, identity: note } = places(enginesFolder)
  await mkdir(enginesFolder, { recursive: true })
  const lock = await takeLock(path)
  try {
    if ((await readFile(note, 'utf8').catch(() => undefined)) !== identity) {
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder)
      await writeFile(note, identity)
    }
  } catch (error) {
    lock.release()
    throw error
  }
  const remove = async (): Promise<void> => await rm(folder, { recursive: true, force: true })
  return { folder, remove, release: () => lock.release() }
}

/** Removes what compilations have left. @returns whether there was anything; @throws ModelyardError `engine_missing` while one runs */
export async function removeWorkshop(enginesFolder: string): Promise<boolean> {
  const { folder, lock: path } = places(enginesFolder)
  if ((await stat(folder).catch(() => undefined)) === undefined) return false
  const lock = await takeLock(path)
  try {
    await rm(folder, { recursive: true, force: true })
  } finally {
    lock.release()
  }
  return true
}

async function takeLock(path: string): Promise<ProcessLock> {
  const taken = await ProcessLock.tryTake(path, {})
  if ('lock' in taken) return taken.lock
  const { pid } = taken.holder
  throw new ModelyardError(
    'engine_missing',
    `llama-server is just being compiled by process ${pid}. Wait for it, or end it; then try again.`,
    { details: { pid } },
  )
}
