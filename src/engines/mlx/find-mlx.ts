import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The versions that were tested. */
export const MLX_VERSIONS = { mlx: '0.32.4', 'mlx-lm': '0.32.2' } as const

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

/** Version of mlx-lm that is installed and complete. */
export async function installedMlxVersion(enginesDirectory: string): Promise<string | undefined> {
  try {
    const text = await readFile(installedMlx(enginesDirectory).manifest, 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return undefined
  }
}
