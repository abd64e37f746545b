import { SystemClock } from '../base/clock.ts'
import { yardDirectories } from '../config/directories.ts'
import { keptAlive } from '../host/keep-alive.ts'
import type { CommandContext } from './command-context.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { Interrupts } from './interrupts.ts'
import { openYard } from './open-yard.ts'
import { Output } from './output.ts'
import { runProgram } from './program.ts'
import { reportError } from './report-error.ts'

/** Runs a command in this process and ends the process with the command's exit code. */
export async function runCommandLine(words: readonly string[]): Promise<never> {
  const interrupts = new Interrupts(process, (code) => process.exit(code))
  const out = new Output(process.stdout, process.env)
  const err = new Output(process.stderr, process.env)
  const context: CommandContext = {
    stdin: process.stdin,
    out,
    err,
    clock: new SystemClock(),
    environment: process.env,
    directories: yardDirectories(process.env, process.cwd()),
    signal: interrupts.signal,
    openYard: (options, wishes) => openYard(context, options, wishes),
  }
  const failed = (error: unknown): Promise<ExitCode> => fail(error, err, words, interrupts)
  const code = await keptAlive(performed(context, words).catch(failed))
  await keptAlive(err.flush())
  // A command that an interrupt ended early says so, whatever it made of it.
  process.exit(code === undefined ? (interrupts.exitCode ?? EXIT.ok) : interrupts.codeFor(code))
}

/** A command whose output did not arrive has failed, whatever it says itself. */
async function performed(context: CommandContext, words: readonly string[]): Promise<ExitCode | undefined> {
  const code = await runProgram(context, words)
  await context.out.flush()
  if (context.out.failure !== undefined) throw context.out.failure
  return code
}

async function fail(
  error: unknown,
  err: Output,
  words: readonly string[],
  interrupts: Interrupts,
): Promise<ExitCode> {
  return await reportError(error, err, {
    json: words.includes('--json'),
    verbose: words.includes('--verbose'),
    codeFor: (code) => interrupts.codeFor(code),
  })
}
