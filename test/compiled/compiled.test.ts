import { realpathSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { findServer } from '../../src/engines/llama-server/find-server.ts'
import { installedServer, readServerManifest } from '../../src/engines/llama-server/server-manifest.ts'
import { ENGINES_DIRECTORY, removeFolder, temporaryFolder } from '../models/paths.ts'
import { ask, chat } from '../node-llama-cpp/fixtures.ts'
import { loadServer } from '../llama-server/fixtures.ts'
import { COMPILED_ENGINES } from './compiled-engines.ts'

const manifest = await readServerManifest(COMPILED_ENGINES)
const { command } = installedServer(COMPILED_ENGINES)

/** It is first on PATH (compile-first.ts): what test/llama-server and the contract start is the program that was compiled. */
describe.skipIf(manifest === undefined)('a llama-server that was compiled here', () => {
  it('says what it is, and is found as what it is', async () => {
    expect(manifest).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
      from: 'source',
      release: expect.stringMatching(/^v\d/) as string,
    })
    const { version } = manifest ?? {}
    expect(await findServer({ binary: undefined, enginesDirectory: COMPILED_ENGINES })).toMatchObject({
      command,
      version,
    })
    expect(await findServer({ binary: undefined, enginesDirectory: ENGINES_DIRECTORY })).toMatchObject({
      command,
      version,
      from: 'path',
    })
  })

  it.runIf(process.platform === 'linux')('is what the tests of llama-server run', async () => {
    const model = await loadServer()
    try {
      expect(realpathSync(`/proc/${model.pid}/exe`)).toBe(realpathSync(command))
      expect((await ask(model, chat('hi'))).text).toBe('Hello, how are you today?')
    } finally {
      await model.unload()
    }
  })
  it('loads, though a user has made llama.cpp silent in its own configuration file', async () => {
    const folder = await temporaryFolder()
    await mkdir(join(folder, 'llama.cpp'))
    await writeFile(join(folder, 'llama.cpp/config.ini'), 'log-verbosity = 0\nfit = on\n')
    vi.stubEnv('XDG_CONFIG_HOME', folder)
    try {
      const model = await loadServer()
      expect((await ask(model, chat('hi'))).text).toBe('Hello, how are you today?')
      await model.unload()
    } finally {
      vi.unstubAllEnvs()
      await removeFolder(folder)
    }
  })
})
