import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { yardDirectories } from '../../src/config/directories.ts'
import { removeEngineCommand, installEngineCommand, listEngines } from '../../src/cli/commands/engines.ts'
import { examineLlamaServer } from '../../src/cli/doctor/software-checks.ts'
import { createDesk, type Desk } from '../../src/cli/test-desk.ts'
import { ProcessLock } from '../../src/host/process-lock.ts'

const FAKE = resolve(import.meta.dirname, '../programs/fake-build-tools.sh')
const WORKSHOP = '.llama-server-build'

describe.skipIf(process.platform === 'win32')('engines install llama-server --from-source', () => {
  let folder = ''
  let engines = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'compile-'))
    engines = join(folder, 'engines')
    vi.stubEnv('PATH', join(folder, 'bin'))
    vi.stubEnv('CXX', '')
    vi.stubEnv('FAKE_BUILD_CALLS', join(folder, 'calls'))
    await mkdir(join(folder, 'bin'))
    await carrySource('v0.4.0')
  })
  afterEach(async () => {
    vi.unstubAllEnvs()
    await rm(folder, { recursive: true })
  })

  async function carrySource(release: string): Promise<void> {
    const carrier = join(engines, 'node-llama-cpp/node_modules/node-llama-cpp/llama')
    await mkdir(carrier, { recursive: true })
    await writeFile(join(carrier, 'gitRelease.bundle'), `${release} of llama.cpp`)
    await writeFile(join(carrier, 'binariesGithubRelease.json'), JSON.stringify({ release }))
  }

  /** The machine has these tools, and no other. */
  async function has(...names: string[]): Promise<void> {
    for (const name of names) {
      const path = join(folder, 'bin', name)
      await writeFile(path, `#!/bin/sh\nexec /bin/sh '${FAKE}' ${name} "$@"\n`)
      await chmod(path, 0o755)
    }
  }

  async function calls(tool: string): Promise<string[][]> {
    const text = await readFile(join(folder, 'calls'), 'utf8').catch(() => '')
    const all = text.split('\n').filter(Boolean)
    return all.map((line) => line.split('\t')).filter(([name]) => name === tool)
  }

  function desk(): Desk {
    const made = createDesk()
    return {
      ...made,
      context: { ...made.context, directories: yardDirectories({ MODELYARD_HOME: folder }, '/') },
    }
  }

  async function compile(options: object = {}, { context }: Desk = desk()): Promise<void> {
    await installEngineCommand(context, 'llama-server', { fromSource: true, verbose: true, ...options })
  }

  it('unpacks, configures and compiles, and installs what comes of it with how it came', async () => {
    await has('git', 'cmake', 'ninja', 'c++')
    const made = desk()
    await compile({ jobs: 2, define: ['GGML_BLAS=ON'] }, made)
    expect(made.err()).toMatch(
      /^Installing the engine llama-server v0\.4\.0 into .*compiled for this processor/,
    )
    expect(made.err()).toMatch(
      /unpacking v0\.4\.0[^]*compiling 2 files at a time[^]*\[2\/2\] Linking[^]*Installed llama-server 0\.4\.0-dev in/,
    )
    const [configured = []] = await calls('cmake')
    expect(configured).toEqual(
      expect.arrayContaining(['Ninja', '-DGGML_NATIVE=ON', '-DLLAMA_USE_PREBUILT_UI=OFF', '-DGGML_BLAS=ON']),
    )
    expect(await calls('ninja')).toEqual([
      ['ninja', '-C', join(engines, WORKSHOP, 'build'), '-j', '2', 'llama-server'],
    ])
    expect((await readdir(engines)).toSorted()).toEqual(['llama-server', 'node-llama-cpp'])
    const manifest = JSON.parse(
      await readFile(join(engines, 'llama-server/installed.json'), 'utf8'),
    ) as object
    expect(manifest).toMatchObject({
      version: '0.4.0-dev',
      from: 'source',
      release: 'v0.4.0',
      settings: ['GGML_BLAS=ON'],
    })
  })

  it('is listed as compiled, known to the doctor, and removed', async () => {
    await has('git', 'cmake', 'ninja', 'c++')
    await compile()
    const listed = desk()
    await listEngines(listed.context, {})
    expect(listed.out()).toMatch(
      /^llama-server .* 0\.4\.0-dev \(compiled\) .*engines\/llama-server\/llama-server/m,
    )
    const { directories } = desk().context
    expect(await examineLlamaServer(directories, true)).toMatchObject({
      status: 'ok',
      found: expect.stringContaining('0.4.0-dev, compiled here: ') as string,
    })
    const removed = desk()
    await removeEngineCommand(removed.context, 'llama-server', {})
    expect(removed.out()).toBe('llama-server is removed.\n')
    expect(await readdir(engines)).toEqual(['node-llama-cpp'])
  })

  it('one compiled for another processor is told by the doctor before a model ends with SIGILL', async () => {
    await has('git', 'cmake', 'ninja', 'c++')
    await compile()
    const path = join(engines, 'llama-server/installed.json')
    const manifest = JSON.parse(await readFile(path, 'utf8')) as object
    await writeFile(path, JSON.stringify({ ...manifest, instructions: ['avx9999'] }))
    expect(await examineLlamaServer(desk().context.directories, true)).toMatchObject({
      status: 'warning',
      found: expect.stringContaining('a processor with avx9999, which this one lacks') as string,
      remedy: expect.stringContaining('--from-source') as string,
    })
  })

  it.each([
    [['cmake', 'ninja', 'c++', 'apt-get'], ['git'], 'sudo apt-get install git;'],
    [['git', 'cmake', 'ninja', 'dnf'], ['a C++ compiler'], 'sudo dnf install gcc-c++;'],
    [['git', 'c++', 'apt-get'], ['cmake', 'ninja'], 'sudo apt-get install cmake ninja-build (Python 3'],
    [[], ['git', 'cmake', 'ninja', 'a C++ compiler'], "from your system's packages"],
  ])(
    'with %j, %j is told as missing, with what to do, and nothing is begun',
    async (there, missing, remedy) => {
      await has(...there)
      await expect(compile()).rejects.toMatchObject({
        code: 'engine_missing',
        message: expect.stringContaining(remedy) as string,
        details: { missing },
      })
      expect(await readdir(engines)).toEqual(['node-llama-cpp'])
    },
  )

  it.each([
    [
      'clone-fails',
      'engine_missing',
      'step "unpack" failed (exit code 128), saying: fatal: this is not a bundle',
    ],
    ['configure-fails', 'engine_missing', 'step "configure" failed (exit code 1), saying: CMake Error at'],
    ['memory', 'insufficient_memory', '--from-source --jobs 2'],
    ['no-program', 'engine_missing', 'it does not run here (exit code 132)'],
  ])('%s is told, and nothing half is installed', async (mode, code, words) => {
    await has('git', 'cmake', 'ninja', 'c++')
    vi.stubEnv('FAKE_BUILD', mode)
    await expect(compile({ jobs: 4 })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words) as string,
    })
    expect((await readdir(engines)).filter((name) => !name.startsWith(WORKSHOP))).toEqual(['node-llama-cpp'])
  })

  it('goes on where it was, unless the source or the settings are others', async () => {
    await has('git', 'cmake', 'ninja', 'c++')
    vi.stubEnv('FAKE_BUILD', 'memory')
    await expect(compile()).rejects.toMatchObject({ code: 'insufficient_memory' })
    await expect(compile()).rejects.toMatchObject({ code: 'insufficient_memory' })
    expect(await calls('git')).toHaveLength(1)
    await expect(compile({ define: ['GGML_BLAS=ON'] })).rejects.toMatchObject({ code: 'insufficient_memory' })
    expect(await calls('git')).toHaveLength(2)
    await carrySource('v0.5.0')
    vi.stubEnv('FAKE_BUILD', '')
    const made = desk()
    await compile({ define: ['GGML_BLAS=ON'] }, made)
    expect(await calls('git')).toHaveLength(3)
    expect(made.err()).toContain('[2/2]')
    expect((await readdir(engines)).toSorted()).toEqual(['llama-server', 'node-llama-cpp'])
  })

  it('counts what an earlier try has compiled, so that nobody takes it for a new beginning', async () => {
    await has('git', 'cmake', 'ninja', 'c++')
    vi.stubEnv('FAKE_BUILD', 'memory')
    await expect(compile()).rejects.toMatchObject({ code: 'insufficient_memory' })
    vi.stubEnv('FAKE_BUILD', '')
    const made = desk()
    await compile({}, made)
    expect(made.err()).toContain('[2/2] Linking')
    expect(made.err()).not.toContain('[1/')
  })

  it('what is compiled already is not compiled again, unless the settings or the processor are others', async () => {
    await has('git', 'cmake', 'ninja', 'c++')
    await compile({ define: ['GGML_BLAS=ON'] })
    const again = desk()
    await compile({ define: ['GGML_BLAS=ON'] }, again)
    expect(again.err()).toBe('')
    expect(again.out()).toMatch(
      /^llama-server 0\.4\.0-dev is installed\. .* remove it first: modelyard engines remove llama-server$/m,
    )
    expect(await calls('ninja')).toHaveLength(1)
    await compile()
    await carrySource('v0.5.0')
    await compile()
    expect(await calls('ninja')).toHaveLength(3)
    const path = join(engines, 'llama-server/installed.json')
    const manifest = JSON.parse(await readFile(path, 'utf8')) as object
    await writeFile(path, JSON.stringify({ ...manifest, instructions: ['avx9999'] }))
    await compile()
    expect(await calls('ninja')).toHaveLength(4)
  })

  it('an interrupt ends the compilers, too; what is compiled stays until it is removed', async () => {
    await has('git', 'cmake', 'ninja', 'c++')
    vi.stubEnv('FAKE_BUILD', 'hangs')
    const made = desk()
    const done = compile({}, made)
    await vi.waitFor(() => expect(made.err()).toContain('second.o'), 30_000)
    const compiler = Number(await readFile(join(engines, WORKSHOP, 'build/compiler.pid'), 'utf8'))
    expect(() => process.kill(compiler, 0)).not.toThrow()
    const other = desk()
    await expect(compile({}, other)).rejects.toMatchObject({
      code: 'engine_missing',
      message: expect.stringContaining(`compiled by process ${process.pid}`) as string,
    })
    made.interrupt.abort()
    await expect(done).rejects.toMatchObject({ code: 'aborted' })
    await vi.waitFor(() => expect(() => process.kill(compiler, 0)).toThrow('ESRCH'), 30_000)
    expect((await readdir(engines)).toSorted()).toEqual([WORKSHOP, 'node-llama-cpp'])
    vi.stubEnv('FAKE_BUILD', '')
    const removed = desk()
    await removeEngineCommand(removed.context, 'llama-server', {})
    expect(removed.out()).toBe('llama-server is removed.\n')
    expect(await readdir(engines)).toEqual(['node-llama-cpp'])
  })

  it('what a running compilation needs is not removed', async () => {
    await mkdir(join(engines, WORKSHOP))
    const taken = await ProcessLock.tryTake(join(engines, `${WORKSHOP}.lock`), {})
    await expect(removeEngineCommand(desk().context, 'llama-server', {})).rejects.toMatchObject({
      code: 'engine_missing',
      details: { pid: process.pid },
    })
    expect(await readdir(engines)).toContain(WORKSHOP)
    if ('lock' in taken) taken.lock.release()
  })

  it('a llama-server on PATH, which comes first, is told of', async () => {
    await has('git', 'cmake', 'ninja', 'c++')
    const other = join(folder, 'bin', 'llama-server')
    await writeFile(other, '#!/bin/sh\necho "version: 7"\n')
    await chmod(other, 0o755)
    const made = desk()
    await compile({}, made)
    expect(made.err()).toContain(`Installed llama-server 0.4.0-dev in`)
    expect(made.err()).toContain(`The llama-server on PATH, ${other}, comes before`)
    const listed = desk()
    await listEngines(listed.context, { json: true })
    const entries = JSON.parse(listed.out()) as { engine: string; how?: string; installed: string }[]
    expect(entries.find(({ engine }) => engine === 'llama-server')).toMatchObject({
      installed: '7',
      how: 'on PATH',
      folder: other,
    })
  })
})
