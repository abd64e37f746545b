import { formatBytes } from './base/bytes.ts'
import type { Clock } from './base/clock.ts'
import { ModelyardError } from './base/errors.ts'
import type { ContextFolder, FoundContext, FolderContents } from './contexts/context-folder.ts'
import type { ContextsRequest } from './dialects/yard-port.ts'
import type { EventBus } from './events/event-bus.ts'
import type { ContextListing } from './pool/context-listing.ts'
import type { AdoptedContext, Pool } from './pool/pool.ts'

/** Bytes below which it is worth saying how little room there is (BR-56). */
const LITTLE_ROOM = 256 * 1024 ** 2

/** Tells the pool what earlier servers parked. A folder that cannot be used is said, and nothing is parked (BR-54). */
export async function adoptContexts(
  pool: Pool,
  folder: ContextFolder,
  { clock, bus }: { clock: Clock; bus: EventBus },
): Promise<void> {
  const warn = (code: string, message: string): void => bus.emit('warning-raised', { code, message })
  const found = await folder.open().catch((error: unknown): FolderContents => {
    warn('disk_full', `Contexts cannot be parked: ${String(error)}.`)
    return { contexts: [], reclaimed: { files: 0, bytes: 0 } }
  })
  const { files, bytes } = found.reclaimed
  if (files > 0)
    warn(
      'contexts_reclaimed',
      `${files} files of parked contexts were of no use and are deleted (${formatBytes(bytes)}).`,
    )
  const room = await folder.room()
  if (room < LITTLE_ROOM)
    warn(
      'contexts_room',
      `Only ${formatBytes(room)} may be used for parked contexts: a tenth of what the disk has free.`,
    )
  pool.adoptContexts(
    found.contexts.map((context) => adopted(context, clock)),
    room,
  )
}

function adopted({ record, bytes }: FoundContext, clock: Clock): AdoptedContext {
  const { context: id, parkedAt, size: _size, ...rest } = record
  return { id, ...rest, bytes, age: Math.max(0, clock.wallTime() - parkedAt) }
}

/**
 * Checks that what shall be removed is there: a wrong id must not look like one that has gone. Models are meant by any of their names,
 * and by what they were called when their contexts were parked.
 * @throws ModelyardError `not_found` naming the ids, nothing being removed; `model_not_found`
 */
export function contextsToRemove(
  { ids, model }: ContextsRequest,
  parked: readonly Pick<ContextListing, 'id' | 'model'>[],
  idOfModel: (name: string) => string,
): ContextsRequest {
  const unknown = (ids ?? []).filter((id) => parked.every((context) => context.id !== id))
  if (unknown.length > 0) throw unknownContexts(unknown)
  return {
    ...(ids !== undefined && { ids }),
    ...(model !== undefined && {
      model: parked.some((context) => context.model === model) ? model : idOfModel(model),
    }),
  }
}

function unknownContexts(ids: readonly string[]): ModelyardError {
  const names = ids.map((id) => `"${id}"`).join(', ')
  const which = ids.length === 1 ? `No context ${names} is parked` : `No contexts ${names} are parked`
  return new ModelyardError('not_found', `${which}; nothing was removed. See: modelyard contexts list`, {
    details: { ids: [...ids] },
  })
}
