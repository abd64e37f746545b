import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelyardError } from '../../../base/errors.ts'

/** The source of llama.cpp that an installed node-llama-cpp carries: one commit of it, as a git bundle. */
export interface ServerSource {
  /** Absolute path of the bundle. */
  bundle: string
  /** The release it is, for example `v0.4.0`; undefined where the package does not say. */
  release: string | undefined
}

/** @throws ModelyardError `engine_missing` where node-llama-cpp is not installed */
export async function findServerSource(enginesFolder: string): Promise<ServerSource> {
  const carrier = join(enginesFolder, 'node-llama-cpp', 'node_modules', 'node-llama-cpp', 'llama')
  const bundle = join(carrier, 'gitRelease.bundle')
  try {
    await stat(bundle)
  } catch (cause) {
    throw new ModelyardError(
      'engine_missing',
      'llama-server cannot be compiled: its source is in the engine node-llama-cpp, which is not installed. Install that one first: modelyard engines install node-llama-cpp',
      { details: { path: bundle }, cause },
    )
  }
  return { bundle, release: await releaseOf(carrier) }
}

async function releaseOf(carrier: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(carrier, 'binariesGithubRelease.json'), 'utf8')
    return (JSON.parse(text) as { release?: string }).release
  } catch {
    return undefined
  }
}
