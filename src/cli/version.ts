import { createRequire } from 'node:module'

/** The version in the package's own manifest, found from the sources and from the build alike. */
export function readVersion(): string {
  const manifest = createRequire(import.meta.url)('modelyard/package.json') as { version: string }
  return manifest.version
}
