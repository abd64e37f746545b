import { basename } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import type { LoadFailureClass, LoadPlan } from '../engine.ts'

/** What the texts of errors and the last log lines tell about the cause; the first that fits. */
const SIGNS: readonly [LoadFailureClass, RegExp][] = [
  [
    'out_of_memory',
    /InsufficientMemory|bad_alloc|out of memory|not enough (memory|v?ram)|unable to allocate|failed to allocate|cannot allocate|mlock/i,
  ],
  ['bad_option', /NoBinaryFound|no (gpu|binary)|lora|adapter|flash.?att|KV cache type|unsupported.*cache/i],
  [
    'bad_file',
    /gguf|magic|tensor|corrupt|invalid|unknown (model )?architecture|vocab|tokenizer|key not found|failed to load model|ENOENT|no such file|EACCES|nan/i,
  ],
]

const SENTENCES: Record<LoadFailureClass, string> = {
  out_of_memory: 'there was not enough memory',
  bad_option: 'an option does not fit it or this machine',
  bad_file: 'its file cannot be used',
  missing_engine: 'the engine is not installed',
  port: 'there was no port',
  timeout: 'it took too long',
  crash: 'the engine failed',
  aborted: 'the load was given up',
}

/** Any failure of a load as an error that tells its class and the engine's last words (R11). */
export function loadFailure(plan: LoadPlan, thrown: unknown, logTail: readonly string[]): ModelyardError {
  if (thrown instanceof ModelyardError) return thrown
  const { name, message } = thrown instanceof Error ? thrown : { name: '', message: String(thrown) }
  const failure = classify(`${name}: ${message}`, logTail)
  const file = plan.facts.path === undefined ? '' : ` (${basename(plan.facts.path)})`
  return new ModelyardError(
    'model_load_failed',
    `Model "${plan.model}"${file} could not be loaded: ${SENTENCES[failure]}. ${lastWords(message, logTail)}`,
    { details: { failure, logTail: [...logTail] }, cause: thrown },
  )
}

/** What the last log lines complain of; undefined when they say nothing that is known. */
export function classifyLog(logTail: readonly string[]): LoadFailureClass | undefined {
  return SIGNS.find(([, sign]) => logTail.some((line) => isComplaint(line) && sign.test(line)))?.[0]
}

function classify(message: string, logTail: readonly string[]): LoadFailureClass {
  const inMessage = SIGNS.find(([, sign]) => sign.test(message))?.[0]
  // "Failed to load model" says nothing; the log does.
  const vague = inMessage === undefined || /failed to (load|create)/i.test(message)
  const inLog = vague ? classifyLog(logTail) : undefined
  return inLog ?? inMessage ?? 'crash'
}

/** What llama.cpp closes with after it has said what was wrong. */
const SAYS_NOTHING = /failed to (load|create) (model|context)\s*$/i

function isComplaint(line: string): boolean {
  return /error|fail|unable|cannot|could ?n[o']t|invalid|unknown|missing|wrong/i.test(line)
}

/** The last line that says what was wrong. */
export function lastComplaint(logTail: readonly string[]): string | undefined {
  const told = logTail.findLast((line) => isComplaint(line) && !SAYS_NOTHING.test(line))
  return (told ?? logTail.findLast(isComplaint))?.trim()
}

function lastWords(message: string, logTail: readonly string[]): string {
  const complaint = lastComplaint(logTail)
  return complaint === undefined || message.includes(complaint) ? message : `${message}: ${complaint}`
}

/** @throws model_load_failed with the signal's reason, class `aborted` */
export function throwIfAborted(plan: LoadPlan, signal: AbortSignal): void {
  if (!signal.aborted) return
  if (signal.reason instanceof ModelyardError) throw signal.reason
  throw new ModelyardError('aborted', `The load of "${plan.model}" was given up.`, {
    details: { failure: 'aborted' satisfies LoadFailureClass },
    cause: signal.reason,
  })
}
