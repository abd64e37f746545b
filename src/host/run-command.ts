import { spawn, type ChildProcess } from 'node:child_process'
import { getPriority, setPriority } from 'node:os'
import { abortError, onAbort } from '../base/abort.ts'
import { findExecutable } from './executables.ts'
import { LineSplitter } from './line-splitter.ts'
import { LogTail } from './log-tail.ts'
import { boundToParent } from './parent-death.ts'
import { signalGroup } from './process-tree.ts'

/** Of work in the background, so that models answer beside it. */
const LOW_PRIORITY = 10

export interface CommandLine {
  /** A name found on PATH, or an absolute path. Never a shell line. */
  command: string
  args: readonly string[]
  directory?: string
  /** Added to our own environment, which is passed whole: package managers need the user's proxies, mirrors and certificates. */
  environment?: Record<string, string>
  /** Ends the command (SIGTERM) and makes the call throw. */
  signal?: AbortSignal
  /** Long work of many processes: at low priority, in a group of its own that an abort ends whole. Default false. */
  background?: boolean
  /** Each line of output as it comes, without its line end; standard output and standard error alike. */
  onLine?: (line: string, from: 'stdout' | 'stderr') => void
}

/** How a command ended. `error` when it could not be started at all: code `ENOENT` = there is no such command. */
export interface CommandOutcome {
  /** Null when a signal ended it or it never started. */
  code: number | null
  signal: NodeJS.Signals | null
  /** Last lines of both outputs, newest last, at most 40. */
  logTail: string[]
  error?: NodeJS.ErrnoException
}

/**
 * Runs a short-lived program of the user's (a package manager, `python3 --version`) to its end; its failure is a value. Workers are
 * run by `SupervisedChild` instead. @throws ModelyardError `aborted` when the signal fired
 */
export async function runCommand(line: CommandLine): Promise<CommandOutcome> {
  throwIfAborted(line.signal)
  const tail = new LogTail()
  const child = start(line)
  collect(child, tail, line.onLine)
  const stopListening = onAbort(line.signal, () => end(child, line))
  try {
    const outcome = await endOf(child)
    throwIfAborted(line.signal)
    return { ...outcome, logTail: tail.lines() }
  } finally {
    stopListening()
  }
}

function start({ command, args, directory, environment, background = false }: CommandLine): ChildProcess {
  const found = findExecutable(command)
  const program =
    background && found !== undefined ? boundToParent(found, args) : { command: found ?? command, args }
  const child = spawn(program.command, program.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
    detached: background && process.platform !== 'win32',
    env: { ...process.env, ...environment },
    ...(directory === undefined ? {} : { cwd: directory }),
  })
  if (background) giveWay(child)
  return child
}

function giveWay({ pid }: ChildProcess): void {
  try {
    // Who runs us at an even lower one means it.
    if (pid !== undefined) setPriority(pid, Math.max(getPriority(), LOW_PRIORITY))
  } catch {
    // It has ended already.
  }
}

function end(child: ChildProcess, { background = false }: CommandLine): void {
  const wasGroup = background && child.pid !== undefined && process.platform !== 'win32'
  if (!wasGroup || !signalGroup(child.pid ?? 0, 'SIGTERM')) child.kill('SIGTERM')
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal)
}

function collect(child: ChildProcess, tail: LogTail, onLine: CommandLine['onLine']): void {
  for (const from of ['stdout', 'stderr'] as const) {
    const lines = new LineSplitter((text) => onLine?.(text, from))
    child[from]?.setEncoding('utf8')
    child[from]
      ?.on('data', (text: string) => {
        tail.write(Buffer.from(text))
        lines.write(text)
      })
      .on('end', () => lines.end())
      .on('error', () => undefined)
  }
}

function endOf(child: ChildProcess): Promise<Omit<CommandOutcome, 'logTail'>> {
  return new Promise((resolve) => {
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error })
    })
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
}
