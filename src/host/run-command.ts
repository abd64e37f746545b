import { spawn, type ChildProcess } from 'node:child_process'
import { abortError, onAbort } from '../base/abort.ts'
import { findExecutable } from './executables.ts'
import { LineSplitter } from './line-splitter.ts'
import { LogTail } from './log-tail.ts'

export interface CommandLine {
  /** A name found on PATH, or an absolute path. Never a shell line. */
  command: string
  args: readonly string[]
  directory?: string
  /** Added to our own environment, which is passed whole: package managers need the user's proxies, mirrors and certificates. */
  environment?: Record<string, string>
  /** Ends the command (SIGTERM) and makes the call throw. */
  signal?: AbortSignal
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
  const child = spawn(findExecutable(line.command) ?? line.command, line.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
    env: { ...process.env, ...line.environment },
    ...(line.directory === undefined ? {} : { cwd: line.directory }),
  })
  collect(child, tail, line.onLine)
  const stopListening = onAbort(line.signal, () => child.kill('SIGTERM'))
  try {
    const outcome = await endOf(child)
    throwIfAborted(line.signal)
    return { ...outcome, logTail: tail.lines() }
  } finally {
    stopListening()
  }
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
