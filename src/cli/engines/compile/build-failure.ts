import { ModelyardError } from '../../../base/errors.ts'
import type { CommandOutcome } from '../../../host/run-command.ts'

/** What was being done when it failed. */
export interface BuildStep {
  /** `unpack`, `configure`, `compile`. */
  what: string
  /** Files that were compiled at once. */
  jobs: number
  /** Where all is, and stays for the next try. */
  folder: string
}

const NO_MEMORY =
  /\bKilled\b|cannot allocate memory|virtual memory exhausted|out of memory allocating|bad_alloc/i
const NO_SPACE = /no space left on device|disk quota exceeded/i
const COMPLAINT = /(?:\berror\b|CMake Error|^fatal\b).*/i

/** The error of a step that failed, judged by its last lines. */
export function buildFailure(
  { what, jobs, folder }: BuildStep,
  { code, signal, logTail }: CommandOutcome,
): ModelyardError {
  const log = logTail.join('\n')
  const details = { logTail, exitCode: code, jobs }
  const goesOn = `What is compiled stays in ${folder}, and the next try goes on there; "modelyard engines remove llama-server" deletes it.`
  if (NO_SPACE.test(log)) {
    const message = `llama-server could not be compiled: there is no space left. Free about 1 GB and try again. ${goesOn}`
    return new ModelyardError('disk_full', message, { details: { ...details, path: folder } })
  }
  if (NO_MEMORY.test(log)) {
    const fewer = Math.max(1, Math.floor(jobs / 2))
    const message = `llama-server could not be compiled: memory ran out while ${jobs} files were compiled at once. Free some memory and try again with fewer: modelyard engines install llama-server --from-source --jobs ${fewer}. ${goesOn}`
    return new ModelyardError('insufficient_memory', message, { details })
  }
  const how = signal === null ? `exit code ${code}` : signal
  const complaint = logTail.map((line) => COMPLAINT.exec(line)?.[0]).find((found) => found !== undefined)
  const saying = complaint === undefined ? '' : `, saying: ${complaint.slice(0, 300)}`
  const message = `llama-server could not be compiled: the step "${what}" failed (${how})${saying}. Look at the last lines, or add --verbose to see all. ${goesOn}`
  return new ModelyardError('engine_missing', message, { details })
}
