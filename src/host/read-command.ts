import type { Clock } from '../base/clock.ts'
import type { CommandReader } from './device-memory.ts'
import { runCommand } from './run-command.ts'

/** A driver that is stuck may not hold up whoever asks. */
const PATIENCE = 5000

/** Runs a command for its standard output, at most 5 seconds. */
export function commandReader(clock: Clock): CommandReader {
  return async (command, args) => {
    const lines: string[] = []
    const abort = new AbortController()
    const timer = clock.setTimer(PATIENCE, () => abort.abort())
    try {
      const { code, error } = await runCommand({
        command,
        args,
        signal: abort.signal,
        onLine: (line, from) => void (from === 'stdout' && lines.push(line)),
      })
      return error === undefined ? { code, output: lines.join('\n') } : null
    } catch {
      return null
    } finally {
      timer.cancel()
    }
  }
}
