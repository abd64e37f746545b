import { stat } from 'node:fs/promises'
import { toModelyardError } from '../base/errors.ts'
import type { ModelSpec } from './model-spec.ts'

export interface MissingFile {
  /** A sentence. */
  reason: string
  /** What to do about it, a sentence. */
  remedy: string
}

/** What is known of a model's files without reading them. */
export interface ModelPlace {
  /** Where its files are; absent for models without, and for those that are to be fetched first. */
  path?: string
  /** Why it cannot be used; absent = nothing is known to be wrong. What is fetched on first use is not missing. */
  missing?: MissingFile
  /** Id of a model before it that has the very same files, links included. */
  sameFileAs?: string
}

/** The part of the artifact store that is needed. */
export interface PlaceFinder {
  /** Where a source's files are; undefined when they are to be fetched first. */
  locate(source: string): Promise<string | undefined>
  /** @throws ModelyardError why a source on this machine cannot be opened */
  requireLocal(source: string): Promise<void>
}

/** Looks where the files of models lie, in the models' order. */
export async function findModelPlaces(
  specs: readonly Pick<ModelSpec, 'id' | 'source'>[],
  finder: PlaceFinder,
): Promise<Map<string, ModelPlace>> {
  const found = await Promise.all(
    specs.map(async ({ id, source }) => ({ id, ...(await look(source, finder)) })),
  )
  const owners = new Map<string, string>()
  const places = new Map<string, ModelPlace>()
  for (const { id, path, identity, missing } of found) {
    const sameFileAs = identity === undefined ? undefined : owners.get(identity)
    if (identity !== undefined && sameFileAs === undefined) owners.set(identity, id)
    places.set(id, {
      ...(path !== undefined && { path }),
      ...(missing !== undefined && { missing }),
      ...(sameFileAs !== undefined && { sameFileAs }),
    })
  }
  return places
}

async function look(
  source: string | undefined,
  finder: PlaceFinder,
): Promise<{ path?: string; identity?: string; missing?: MissingFile }> {
  if (source === undefined) return {}
  try {
    await finder.requireLocal(source)
    const path = await finder.locate(source)
    return path === undefined ? {} : { path, identity: await identityOf(path) }
  } catch (error) {
    const remedy = 'Put the model there, or correct its place in the configuration.'
    return { missing: { reason: toModelyardError(error).message, remedy } }
  }
}

/** The same for all links to a file. */
async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path)
  return `${dev}:${ino}`
}
