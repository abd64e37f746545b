import { randomBytes } from 'node:crypto'
import { copyFile, rm, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import type { SavedSlot } from '../engine.ts'
import { isSealedFor, sealedSize, sealSlotFile } from '../llama-cpp/slot-file.ts'
import { RefusedByServer, type ServerConnection } from '../supervision/server-connection.ts'

/**
 * Contexts of slots in files anywhere. The server reads and writes only names in its own folder, so that a name there is made to stand for
 * the file meant.
 */
export class SavedSlots {
  /** All that must be the same for a saved slot to be read back. */
  readonly identity: string
  readonly #folder: string
  readonly #connection: ServerConnection

  constructor(identity: string, folder: string, connection: ServerConnection) {
    this.identity = identity
    this.#folder = folder
    this.#connection = connection
  }

  /** Resolves when the server has written the slot; the file is summed up beside whatever comes next. @throws invalid_request for an empty slot */
  async save(slot: number, path: string, signal: AbortSignal): Promise<SavedSlot> {
    const { n_saved: tokens = 0 } = await this.#named(path, async (filename, isLink) => {
      const said = await this.#ask(slot, 'save', filename, signal)
      if (!isLink) await copyFile(join(this.#folder, filename), path)
      return said
    })
    if (tokens > 0) return { tokens, bytes: await sealedSize(path), sealed: this.#seal(path) }
    await rm(path, { force: true })
    throw new ModelyardError('invalid_request', `Slot ${slot} is empty; there is nothing to save.`)
  }

  /** Nobody has to wait for it: whoever does is told. */
  #seal(path: string): Promise<void> {
    const sealed = sealSlotFile(path, this.identity).then(() => undefined)
    sealed.catch(() => undefined)
    return sealed
  }

  /** Whether the file is this model's, and whole. */
  async check(path: string): Promise<boolean> {
    return await isSealedFor(path, this.identity)
  }

  /** @param isWhole as {@link check} has said @returns false when it is not; the slot is empty then */
  async restore(
    { slot, path, isWhole }: { slot: number; path: string; isWhole: boolean | undefined },
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!(isWhole ?? (await this.check(path)))) {
      await this.#connection.json(`/slots/${slot}?action=erase`, {}, signal)
      return false
    }
    try {
      return await this.#named(path, async (filename, isLink) => {
        if (!isLink) await copyFile(path, join(this.#folder, filename))
        const { n_restored: tokens = 0 } = await this.#ask(slot, 'restore', filename, signal)
        return tokens > 0
      })
    } catch (error) {
      if (error instanceof RefusedByServer) return false
      throw error
    }
  }

  async #ask(slot: number, action: string, filename: string, signal: AbortSignal): Promise<SlotAnswer> {
    return (await this.#connection.json(
      `/slots/${slot}?action=${action}`,
      { filename },
      signal,
    )) as SlotAnswer
  }

  /** Where no link can be made (Windows asks for a right), the file is copied. */
  async #named<Outcome>(
    path: string,
    use: (filename: string, isLink: boolean) => Promise<Outcome>,
  ): Promise<Outcome> {
    const filename = `${randomBytes(8).toString('hex')}.slot`
    const name = join(this.#folder, filename)
    try {
      const isLink = await symlink(resolve(path), name).then(
        () => true,
        () => false,
      )
      return await use(filename, isLink)
    } finally {
      await rm(name, { force: true })
    }
  }
}

interface SlotAnswer {
  n_saved?: number
  n_restored?: number
}
