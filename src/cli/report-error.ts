import { toModelyardError, type ModelyardError } from '../base/errors.ts'
import { formatDuration } from '../base/durations.ts'
import { exitCodeOf, type ExitCode } from './exit-codes.ts'
import type { Output } from './output.ts'

export interface ErrorReport {
  json: boolean
  /** Stack traces and causes are shown as well. */
  verbose: boolean
  /** What the process exits with where that is not the error's own code: after SIGTERM. */
  codeFor?: (code: ExitCode) => ExitCode
}

/** Tells what went wrong, in words or as JSON, on standard error. @returns the exit code that says the same */
export async function reportError(thrown: unknown, err: Output, report: ErrorReport): Promise<ExitCode> {
  const error = toModelyardError(thrown)
  const own = exitCodeOf(error)
  const exitCode = report.codeFor?.(own) ?? own
  if (report.json) await err.json({ error: { ...error.toJSON(), exitCode } })
  // Who pressed Ctrl-C knows it.
  else if (error.code !== 'aborted') await err.line(describeError(error, err, report.verbose))
  return exitCode
}

function describeError(error: ModelyardError, err: Output, verbose: boolean): string {
  const lines = [`${err.colors.red('error:')} ${error.message}`]
  if (error.retryAfter !== undefined) lines.push(`Try again in ${formatDuration(error.retryAfter)}.`)
  lines.push(...logTail(error).map((line) => err.colors.dim(`  | ${line}`)))
  if (verbose) lines.push(err.colors.dim(stackOf(error)))
  else if (error.code === 'internal') lines.push('Run it again with --verbose to see where it happened.')
  return lines.join('\n')
}

/** The worker's own last words (R11). */
function logTail(error: ModelyardError): string[] {
  const tail = error.details.logTail
  return Array.isArray(tail) ? tail.slice(-10).map(String) : []
}

function stackOf(error: ModelyardError): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${error.cause.stack ?? error.cause.message}` : ''
  return `${error.code}: ${error.stack ?? error.message}${cause}`
}
