import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { examineHome, examineMemory, examinePort } from '../../src/cli/doctor/machine-checks.ts'
import { examinePackageManagers } from '../../src/cli/doctor/package-manager-checks.ts'
import { examineEngine, examineLlamaServer, examineNode } from '../../src/cli/doctor/software-checks.ts'
import { yardDirectories, type YardDirectories } from '../../src/config/directories.ts'

describe('what the doctor looks at', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'doctor-'))
  })
  afterEach(async () => await rm(folder, { recursive: true }))

  function directories(home = folder): YardDirectories {
    return yardDirectories({ MODELYARD_HOME: home }, '/')
  }

  it.each([
    ['20.18.9', 'problem'],
    ['20.19.0', 'ok'],
    ['22.0.0', 'ok'],
    ['18.20.1', 'problem'],
  ])('node %s is a %s', (version, status) => {
    expect(examineNode(version).status).toBe(status)
  })

  it('memory that cannot be read is a problem: unknown means no (R5)', () => {
    expect(examineMemory({ read: () => ({}) }, 2)).toMatchObject({ status: 'problem' })
  })

  it('memory is told with its source, and little of it is a warning', () => {
    const read = (available: number) => () => ({ ram: { total: 2 ** 33, available, source: 'MemAvailable' } })
    expect(examineMemory({ read: read(2 ** 32) }, 2)).toEqual({
      name: 'memory',
      status: 'ok',
      found: '4 GiB of 8 GiB available (MemAvailable), 2 cores',
    })
    expect(examineMemory({ read: read(2 ** 30) }, 1)).toMatchObject({ status: 'warning' })
  })

  it("a home that can be written is told with its disk's free bytes, and the trial leaves nothing behind", async () => {
    const home = join(folder, 'new', 'home')
    const check = await examineHome(directories(home))
    expect(check.found).toMatch(/, [\d.]+ [KMGT]iB free on its disk$/)
    expect(await readdir(home)).toEqual([])
  })

  it('a home that cannot be written is a problem with a remedy', async () => {
    await writeFile(join(folder, 'file'), '')
    const check = await examineHome(directories(join(folder, 'file')))
    expect(check).toMatchObject({
      status: 'problem',
      remedy: expect.stringContaining('MODELYARD_HOME') as string,
    })
  })

  it('a port is free, ours or taken', async () => {
    // What it is sent is read and not answered: the doctor does not wait for ever.
    const server = createServer((socket) => socket.resume().on('error', () => undefined))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    expect(await examinePort(port, undefined)).toMatchObject({
      status: 'warning',
      remedy: expect.stringContaining('--port') as string,
    })
    expect(await examinePort(port, `http://127.0.0.1:${port}`)).toMatchObject({ status: 'ok' })
    await new Promise((resolve) => server.close(resolve))
    expect(await examinePort(port, undefined)).toMatchObject({ status: 'ok', found: `${port} is free` })
  })

  it('an engine that is missing is a warning with the command that installs it', () => {
    expect(examineEngine(directories())).toMatchObject({
      status: 'warning',
      remedy: expect.stringContaining('modelyard engines install node-llama-cpp') as string,
    })
  })

  it('a llama-server that is missing is a warning only where a configured model runs on it', async () => {
    const before = process.env.PATH
    process.env.PATH = folder
    try {
      expect(await examineLlamaServer(directories(), true)).toMatchObject({ status: 'warning' })
      expect(await examineLlamaServer(directories(), false)).toMatchObject({
        status: 'information',
        found: 'There is no llama-server here. No configured model needs it.',
      })
    } finally {
      process.env.PATH = before
    }
  })

  it.skipIf(process.platform === 'win32')('package managers are asked for their version', async () => {
    const before = process.env.PATH
    await writeFile(join(folder, 'npm'), '#!/bin/sh\necho 11.0.0\n')
    await chmod(join(folder, 'npm'), 0o755)
    process.env.PATH = folder
    try {
      expect(await examinePackageManagers(new AbortController().signal)).toMatchObject([
        { name: 'npm', status: 'ok', found: '11.0.0' },
        { name: 'pip', status: 'warning', found: 'is not on PATH' },
      ])
    } finally {
      process.env.PATH = before
    }
  })
})
