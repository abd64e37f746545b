import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { yardDirectories } from '../../src/config/directories.ts'
import type { CommandContext } from '../../src/cli/command-context.ts'
import { enginePackage, installedVersion } from '../../src/cli/engines/engine-package.ts'
import { installableEngine } from '../../src/cli/engines/installable-engines.ts'
import { npmEngine } from '../../src/cli/engines/npm-engine.ts'
import { requireEngine } from '../../src/cli/engines/require-engine.ts'
import { Output } from '../../src/cli/output.ts'

const PACKAGE = enginePackage('node-llama-cpp', 'linux', 'x64')
const ENGINE = npmEngine('node-llama-cpp', 'linux', 'x64')

/** What a package manager leaves behind, without fetching anything. */
const GOOD_NPM = `
for spec in "$@"; do
  case "$spec" in
    *llama-cpp*@*) name="\${spec%@*}"; version="\${spec##*@}"
      mkdir -p "node_modules/$name"
      printf '{"version":"%s"}' "$version" > "node_modules/$name/package.json" ;;
  esac
done
echo "$@" > "$NPM_ASKED"
echo "npm http fetch GET 200 somewhere"`

describe.skipIf(process.platform === 'win32')('installing an engine', () => {
  const pathBefore = process.env.PATH
  let folder = ''
  let engines = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'engines-'))
    engines = join(folder, 'engines')
    process.env.PATH = `${folder}${delimiter}${pathBefore}`
    process.env.NPM_ASKED = join(folder, 'asked')
  })
  afterEach(async () => {
    process.env.PATH = pathBefore
    delete process.env.NPM_ASKED
    await rm(folder, { recursive: true })
  })

  async function npmIs(body: string): Promise<void> {
    await writeFile(join(folder, 'npm'), `#!/bin/sh\n${body}\n`)
    await chmod(join(folder, 'npm'), 0o755)
  }

  function desk(signal: AbortSignal = new AbortController().signal): {
    context: CommandContext
    err: () => string
  } {
    const stream = new PassThrough()
    let shown = ''
    stream.on('data', (data: Buffer) => (shown += data.toString()))
    const context: CommandContext = {
      stdin: new PassThrough(),
      out: new Output(new PassThrough()),
      err: new Output(stream),
      clock: new SystemClock(),
      environment: {},
      directories: yardDirectories({ MODELYARD_HOME: folder }, '/'),
      signal,
      openYard: () => Promise.reject(new Error('no yard here')),
    }
    return { context, err: () => shown }
  }

  it('asks for the pinned versions of the engine and of this platform, without scripts and optional packages', async () => {
    await npmIs(GOOD_NPM)
    const { context, err } = desk()
    expect(await requireEngine(context, engines, ENGINE, {})).toBe(true)
    expect(installedVersion(engines, PACKAGE)).toBe('3.21.1')
    const asked = await readFile(join(folder, 'asked'), 'utf8')
    expect(asked).toContain('--omit=optional --ignore-scripts')
    expect(asked).toContain('node-llama-cpp@3.21.1 @node-llama-cpp/linux-x64@3.21.1')
    expect(err()).toMatch(/^Installing the engine node-llama-cpp 3\.21\.1 into .*\nInstalled node-llama-cpp/)
    expect(await readdir(engines)).toEqual(['node-llama-cpp'])
  })

  it('one that is there is left alone, silently', async () => {
    await npmIs(GOOD_NPM)
    await requireEngine(desk().context, engines, ENGINE, {})
    await npmIs('exit 1')
    const { context, err } = desk()
    expect(await requireEngine(context, engines, ENGINE, {})).toBe(false)
    expect(err()).toBe('')
  })

  it('an older version gives way to the pinned one', async () => {
    const modules = join(engines, 'node-llama-cpp/node_modules')
    for (const name of Object.keys(PACKAGE.packages)) {
      await mkdir(join(modules, name), { recursive: true })
      await writeFile(join(modules, name, 'package.json'), '{"version":"3.0.0"}')
    }
    await npmIs(GOOD_NPM)
    expect(await requireEngine(desk().context, engines, ENGINE, {})).toBe(true)
    expect(installedVersion(engines, PACKAGE)).toBe('3.21.1')
    expect(await readdir(engines)).toEqual(['node-llama-cpp'])
  })

  it('an engine without its binaries is not installed', async () => {
    const place = join(engines, 'node-llama-cpp/node_modules/node-llama-cpp')
    await mkdir(place, { recursive: true })
    await writeFile(join(place, 'package.json'), '{"version":"3.21.1"}')
    expect(installedVersion(engines, PACKAGE)).toBeUndefined()
  })

  it('--no-install refuses with the remedy and touches nothing', async () => {
    await npmIs(GOOD_NPM)
    await expect(requireEngine(desk().context, engines, ENGINE, { install: false })).rejects.toMatchObject({
      code: 'engine_missing',
      message: expect.stringContaining('modelyard engines install node-llama-cpp') as string,
    })
    await expect(readdir(engines)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it("a failed installation tells npm's last lines and leaves nothing behind", async () => {
    await npmIs('mkdir -p node_modules/half; echo "npm error network is down" >&2; exit 7')
    await expect(requireEngine(desk().context, engines, ENGINE, {})).rejects.toMatchObject({
      code: 'engine_missing',
      message: expect.stringContaining('exit code 7') as string,
      details: { logTail: ['npm error network is down'] },
    })
    expect(await readdir(engines)).toEqual([])
  })

  it('a home that cannot be written to is told in a sentence with what to do, not as mkdir failed', async () => {
    await npmIs(GOOD_NPM)
    await writeFile(engines, 'a file where the folder should be')
    await expect(requireEngine(desk().context, engines, ENGINE, {})).rejects.toMatchObject({
      code: 'engine_missing',
      message: expect.stringMatching(
        /cannot be written to \(E\w+\)\. Make it writable or set MODELYARD_HOME/,
      ) as string,
    })
  })

  it('a disk with too little room is told with both numbers before anything is fetched', async () => {
    await npmIs(GOOD_NPM)
    const tooLarge = { ...ENGINE, diskBytes: 2 ** 60 }
    const { context, err } = desk()
    await expect(requireEngine(context, engines, tooLarge, {})).rejects.toMatchObject({
      code: 'disk_full',
      message: expect.stringMatching(
        /1048576 TiB are needed, [\d.]+ [KMGT]iB are free\..*MODELYARD_HOME/,
      ) as string,
      details: { need: 2 ** 60, free: expect.any(Number) as number },
    })
    expect(err()).toBe('')
    await expect(readdir(engines)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('npm that says it is done and is not is found out', async () => {
    await npmIs('exit 0')
    await expect(requireEngine(desk().context, engines, ENGINE, {})).rejects.toMatchObject({
      code: 'engine_missing',
      message: expect.stringContaining('not complete') as string,
    })
    expect(await readdir(engines)).toEqual([])
  })

  it('an interrupt ends npm and leaves nothing behind', async () => {
    await npmIs('echo started; exec sleep 60')
    const controller = new AbortController()
    const { context, err } = desk(controller.signal)
    const done = requireEngine(context, engines, ENGINE, { verbose: true })
    void vi.waitFor(() => expect(err()).toContain('started'), 20_000).finally(() => controller.abort())
    await expect(done).rejects.toMatchObject({ code: 'aborted' })
    expect(await readdir(engines)).toEqual([])
  })

  it('a platform without binaries is told which ones have some', () => {
    expect(() => enginePackage('node-llama-cpp', 'sunos', 'sparc')).toThrow(/sunos on sparc; .*linux-x64/)
    expect(() => installableEngine('nothing')).toThrow(/There is: node-llama-cpp, .*llama-server/)
  })
})
