import { existsSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { installServer } from '../../src/cli/engines/llama-server-install.ts'
import { installedServer, readServerManifest } from '../../src/engines/llama-server/server-manifest.ts'
import { CARRIER, COMPILED_ENGINES } from './compiled-engines.ts'

/**
 * Before any test file is begun: compiles llama-server where that has not been done (10 minutes on two idle cores), and puts it first on
 * PATH, so that whatever starts a llama-server starts this one. Without a source nothing is done, and its tests are skipped.
 */
export async function setup(): Promise<void> {
  if ((await readServerManifest(COMPILED_ENGINES)) === undefined) {
    if (!existsSync(CARRIER)) return
    await compile()
  }
  const { folder } = installedServer(COMPILED_ENGINES)
  process.env['PATH'] = [folder, process.env['PATH']].join(delimiter)
}

async function compile(): Promise<void> {
  await mkdir(COMPILED_ENGINES, { recursive: true })
  const carrier = join(COMPILED_ENGINES, 'node-llama-cpp')
  if (!existsSync(carrier)) await symlink(CARRIER, carrier)
  const onLine = (line: string): void => void process.stderr.write(`${line}\n`)
  await installServer(COMPILED_ENGINES, { fromSource: true, signal: new AbortController().signal, onLine })
}
