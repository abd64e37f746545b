import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The versions that were tested. */
export const MLX_VERSIONS = { mlx: '0.32.4', 'mlx-lm': '0.32.2', 'mlx-vlm': '0.7.10' } as const

/** Where `modelyard engines install mlx` puts its environment. */
export interface InstalledMlx {
  folder: string
  /** Its Python. */
  python: string
  /** Written last, so that it is there only when all is. */
  manifest: string
}

export function installedMlx(enginesDirectory: string): InstalledMlx {
  const folder = join(enginesDirectory, 'mlx')
  return { folder, python: join(folder, 'venv', 'bin', 'python'), manifest: join(folder, 'installed.json') }
}

/** What is installed, complete. */
export interface MlxManifest {
  /** Of mlx-lm. */
  version: string
  /** Of mlx-vlm; absent = models that see cannot be run. */
  vision?: string
}

export async function installedMlxManifest(enginesDirectory: string): Promise<MlxManifest | undefined> {
  try {
    return JSON.parse(await readFile(installedMlx(enginesDirectory).manifest, 'utf8')) as MlxManifest
  } catch {
    return undefined
  }
}

/** Version of mlx-lm that is installed and complete. */
export async function installedMlxVersion(enginesDirectory: string): Promise<string | undefined> {
  return (await installedMlxManifest(enginesDirectory))?.version
}
