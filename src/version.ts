import { createRequire } from 'node:module'

const manifest = createRequire(import.meta.url)('modelyard/package.json') as { version: string }

/** The version in the package's own manifest, found from the sources and from the build alike. */
export const VERSION: string = manifest.version
