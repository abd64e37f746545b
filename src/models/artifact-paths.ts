import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { HubSource } from './hub-source.ts'
import { fileNameOf } from './source.ts'
import type { WheelSource } from './wheel-source.ts'

/*
 * Layout below the models folder: hf/ORG/NAME/REVISION/FILE, hf/ORG/NAME/REVISION+safetensors/FILES, pip/PACKAGE/VERSION/FILE, url/HOST/HASH/FILE, catalog/NAME/HASH/FILES. Files that people put there
 * themselves may lie anywhere else in it.
 */

/** Folder of a repository's revision. A revision with slashes is one folder name, so that no two revisions share files (F28). */
export function hubFolder(models: string, { repository, revision }: HubSource): string {
  return join(models, 'hf', ...repository.split('/'), encodeURIComponent(revision))
}

/**
 * Folder of a repository's model in safetensors: its own, since an engine takes all weights that it finds in it. No revision has a `+` in
 * its folder's name.
 */
export function safetensorsFolder(models: string, source: HubSource): string {
  return `${hubFolder(models, source)}+safetensors`
}

export function wheelPath(models: string, { package: name, version, member }: WheelSource): string {
  return join(models, 'pip', name.toLowerCase(), version ?? 'latest', ...member.split('/'))
}

/** Folder of a model of several files; another list of files is another folder. */
export function catalogFolder(models: string, name: string, content: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 12)
  return join(models, 'catalog', name, hash)
}

/** The hash keeps files of one name from different addresses apart. */
export function urlPath(models: string, address: string): string {
  const url = new URL(address)
  const hash = createHash('sha256').update(url.href).digest('hex').slice(0, 12)
  return join(models, 'url', url.host.replaceAll(/[:[\]]/g, '_'), hash, fileNameOf(url))
}
