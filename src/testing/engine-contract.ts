import { abortCases } from './contract-cases/abort-cases.ts'
import { answerCases } from './contract-cases/answer-cases.ts'
import { capabilityCases } from './contract-cases/capability-cases.ts'
import { embeddingCases } from './contract-cases/embedding-cases.ts'
import { exitCases } from './contract-cases/exit-cases.ts'
import { formatCases } from './contract-cases/format-cases.ts'
import { loadCases } from './contract-cases/load-cases.ts'
import { slotCases } from './contract-cases/slot-cases.ts'
import { textCases } from './contract-cases/text-cases.ts'
import { toolCases } from './contract-cases/tool-cases.ts'
import { unloadCases } from './contract-cases/unload-cases.ts'
import { ContractBench } from './contract-bench.ts'
import type { ContractCheck } from './contract-check.ts'
import type { EngineContractSubject } from './contract-subject.ts'

export interface EngineContractCase {
  /** A sentence of behaviour. */
  name: string
  /** Why it is not asked of this subject; such a case is to be skipped, and shown. */
  gap?: string
  /** Throws when the engine breaks the contract. */
  run: () => Promise<void>
}

export interface EngineContract {
  cases: readonly EngineContractCase[]
  /** Unloads what the cases shared. */
  close(): Promise<void>
}

/**
 * What `engines/engine.ts` promises, as cases for any test runner: every engine passes them, or lists the gap with its reason. Cases
 * share one loaded model and must run one after the other.
 */
export function engineContract(subject: EngineContractSubject): EngineContract {
  const bench = new ContractBench(subject)
  const known = new Set(CHECKS.map(({ name }) => name))
  const unknown = Object.keys(subject.gaps ?? {}).filter((name) => !known.has(name))
  if (unknown.length > 0) throw new Error(`There is no case of the name "${unknown.join('", "')}".`)
  return { cases: CHECKS.map((check) => bound(check, subject, bench)), close: () => bench.close() }
}

const CHECKS: readonly ContractCheck[] = [
  ...loadCases,
  ...answerCases,
  ...textCases,
  ...capabilityCases,
  ...slotCases,
  ...abortCases,
  ...embeddingCases,
  ...formatCases,
  ...toolCases,
  ...unloadCases,
  ...exitCases,
]

function bound(
  check: ContractCheck,
  subject: EngineContractSubject,
  bench: ContractBench,
): EngineContractCase {
  const gap = gapOf(check, subject)
  return { name: check.name, ...(gap !== undefined && { gap }), run: () => check.check(bench) }
}

function gapOf(
  { name, needs, asks, unless }: ContractCheck,
  subject: EngineContractSubject,
): string | undefined {
  const { engine, capabilities = engine.capabilities } = subject
  const reason = subject.gaps?.[name]
  if (reason !== undefined) {
    if (unless !== undefined && !capabilities[unless]) return `${reason}; capabilities.${unless} is false`
    const field = unless === undefined ? 'no capability allows it' : `its capabilities.${unless} is true`
    throw new Error(`"${name}" cannot be a gap of ${engine.name}: ${field}.`)
  }
  if (asks === 'completion' && !capabilities.tasks.includes(asks))
    return 'capabilities.tasks has no completion'
  if (asks !== undefined && asks !== 'completion' && !capabilities[asks])
    return `capabilities.${asks} is false`
  return needs === undefined || subject[needs] !== undefined ? undefined : `the subject has no ${needs}`
}
