import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds; a busy machine takes its time. */
const DEADLINE = 60_000

const ROOT = resolve(import.meta.dirname, '../..')

/** The built command line. */
export const CLI: string = resolve(ROOT, process.env.MODELYARD_TEST_DIST ?? 'dist', 'cli.js')

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

/** A running `modelyard …`. */
export interface Program {
  readonly pid: number
  out(): string
  err(): string
  /** Waits until standard output holds it. */
  shows(text: string | RegExp): Promise<string>
  tells(text: string | RegExp): Promise<string>
  kill(signal: NodeJS.Signals): void
  /** As a reader does that has seen enough. */
  closeOutput(): void
  readonly ended: Promise<Ended>
}

/** A home with a configuration, and the programs started in it. */
export class TestHome {
  readonly path: string
  readonly #running = new Set<ChildProcess>()

  constructor(path: string) {
    this.path = path
  }

  static async create(configuration: object = {}): Promise<TestHome> {
    const home = new TestHome(await mkdtemp(join(tmpdir(), 'modelyard-cli-')))
    await home.configure(configuration)
    return home
  }

  /** Writes the configuration file of this home. JSON is YAML. */
  async configure(configuration: object): Promise<void> {
    await writeFile(join(this.path, 'modelyard.yaml'), JSON.stringify(configuration, null, 2))
  }

  start(
    words: readonly string[],
    { input = '', openInput = false, environment = {}, controlGroup }: StartOptions = {},
  ): Program {
    const [command, before] = controlGroup === undefined ? [process.execPath, []] : entering(controlGroup)
    const child = spawn(command, [...before, CLI, ...words], {
      cwd: this.path,
      env: { ...cleanEnvironment(), MODELYARD_HOME: this.path, ...environment },
    })
    this.#running.add(child)
    child.stdin.on('error', () => undefined)
    if (openInput) child.stdin.write(input)
    else child.stdin.end(input)
    return program(child, () => this.#running.delete(child))
  }

  /** Runs to the end. */
  async run(words: readonly string[], options: StartOptions = {}): Promise<Ended> {
    return await this.start(words, options).ended
  }

  /** Starts a server on a free port. */
  async serve(words: readonly string[] = [], options: StartOptions = {}): Promise<Program & { url: string }> {
    const server = this.start(['serve', '--port', '0', ...words], options)
    const line = await server.shows(/^.*http:\/\/127\.0\.0\.1:\d+$/m)
    return { ...server, url: /http\S+$/.exec(line)?.[0] ?? '' }
  }

  async remove(): Promise<void> {
    for (const child of this.#running) child.kill('SIGKILL')
    await rm(this.path, { recursive: true, force: true })
  }
}

export interface StartOptions {
  /** Standard input. Default: empty. */
  input?: string
  /** Standard input is left open and nothing more comes. */
  openInput?: boolean
  environment?: Record<string, string>
  /** Directory of a control group that it runs in from its first instruction. */
  controlGroup?: string
}

/** A shell that puts itself into the group and becomes the program. */
function entering(controlGroup: string): [string, string[]] {
  const script = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
  return ['/bin/sh', ['-c', script, controlGroup, process.execPath]]
}

/** Ours without what would change what the programs print or find. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const names = ['MODELYARD_HOME', 'MODELYARD_CONFIG', 'MODELYARD_API_KEY', 'FORCE_COLOR', 'NO_COLOR']
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.includes(name)))
}

function program(child: ChildProcess, onEnd: () => void): Program {
  let [out, err] = ['', '']
  child.stdout?.on('data', (data: Buffer) => (out += data.toString()))
  child.stderr?.on('data', (data: Buffer) => (err += data.toString()))
  let hasEnded = false
  const ended = new Promise<Ended>((settle) => {
    child.once('close', (code, signal) => {
      hasEnded = true
      onEnd()
      settle({ code, signal, out, err })
    })
  })
  const waitFor = async (read: () => string, text: string | RegExp): Promise<string> => {
    const find = (): string | undefined =>
      typeof text === 'string' ? (read().includes(text) ? text : undefined) : text.exec(read())?.[0]
    const deadline = performance.now() + DEADLINE
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (hasEnded) throw new Error(`It ended before it showed ${text}:\n${out}${err}`)
      if (performance.now() > deadline) throw new Error(`It never showed ${text}:\n${out}${err}`)
      await sleep(20)
    }
  }
  return {
    pid: child.pid ?? 0,
    out: () => out,
    err: () => err,
    shows: (text) => waitFor(() => out, text),
    tells: (text) => waitFor(() => err, text),
    kill: (signal) => void child.kill(signal),
    closeOutput: () => void child.stdout?.destroy(),
    ended,
  }
}
