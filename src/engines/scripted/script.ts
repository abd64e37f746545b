import { ModelyardError, type ErrorCode } from '../../base/errors.ts'
import type { FinishReason } from '../../tasks/part.ts'
import type { Usage } from '../../tasks/usage.ts'
import { matchExpression } from './match-expression.ts'
import { compileSteps, type Step } from './script-steps.ts'
import type { ScriptEntry } from './scripted-options.ts'

/** What goes wrong, and before which step; −1 = before `started`. */
export type Trouble = { at: number } & (
  | { kind: 'error'; code: ErrorCode; message: string; retryAfter: number | undefined }
  | { kind: 'exit' }
  | { kind: 'hang' }
)

export interface CompiledEntry {
  matches: (text: string) => boolean
  after: ScriptEntry['after']
  steps: readonly Step[]
  /** In order of `at`. */
  troubles: readonly Trouble[]
  echo: ScriptEntry['echo']
  prefill: number
  delay: number
  firstDelay: number
  finishReason: FinishReason | undefined
  usage: Partial<Usage>
  vector: Float32Array | undefined
  score: number | undefined
}

/** The entries of a script, checked and made ready. @throws ModelyardError `config_invalid` */
export function compileScript(entries: readonly ScriptEntry[]): CompiledEntry[] {
  return entries.map(compileEntry)
}

/** The first entry that fits. `lastRole` is that of the last message; undefined outside chats. */
export function findEntry(
  script: readonly CompiledEntry[],
  text: string,
  lastRole?: string,
): CompiledEntry | undefined {
  return script.find(
    (entry) => (entry.after === undefined || entry.after === lastRole) && entry.matches(text),
  )
}

function compileEntry(entry: ScriptEntry, index: number): CompiledEntry {
  const delay = entry.delay ?? 0
  return {
    matches: compileMatch(entry.match, index),
    after: entry.after,
    steps: compileSteps(entry, index),
    troubles: compileTroubles(entry),
    echo: entry.echo,
    prefill: entry.prefill ?? 0,
    delay,
    firstDelay: entry.firstDelay ?? delay,
    finishReason: entry.finishReason,
    usage: entry.usage ?? {},
    vector: entry.vector === undefined ? undefined : Float32Array.from(entry.vector),
    score: entry.score,
  }
}

function compileMatch(match: string | undefined, index: number): (text: string) => boolean {
  try {
    const expression = matchExpression(match)
    return (text) => expression === undefined || expression.test(text)
  } catch (error) {
    const message = `script[${index}].match is not a regular expression: ${(error as Error).message}`
    throw new ModelyardError('config_invalid', message, { cause: error })
  }
}

const placeOf = (at: number | 'prefill' | undefined): number => (at === 'prefill' ? -1 : (at ?? 0))

function compileTroubles({ error, exitAt, hangAt }: ScriptEntry): Trouble[] {
  const troubles: Trouble[] = []
  if (error !== undefined) {
    const { code = 'engine_failed', message, retryAfter } = error
    troubles.push({ at: placeOf(error.at), kind: 'error', code, message, retryAfter })
  }
  if (exitAt !== undefined) troubles.push({ at: placeOf(exitAt), kind: 'exit' })
  if (hangAt !== undefined) troubles.push({ at: placeOf(hangAt), kind: 'hang' })
  return troubles.sort((a, b) => a.at - b.at)
}
