import { formatBytes } from './base/bytes.ts'
import type { Clock } from './base/clock.ts'
import type { ContextFolder, FoundContext, FolderContents } from './contexts/context-folder.ts'
import type { EventBus } from './events/event-bus.ts'
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
