import { abortCases } from './contract-cases/abort-cases.ts'
import { answerCases } from './contract-cases/answer-cases.ts'
import { embeddingCases } from './contract-cases/embedding-cases.ts'
import { formatCases } from './contract-cases/format-cases.ts'
import { loadCases } from './contract-cases/load-cases.ts'
import { slotCases } from './contract-cases/slot-cases.ts'
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
  const checks = [
    ...loadCases,
    ...answerCases,
    ...slotCases,
    ...abortCases,
    ...embeddingCases,
    ...formatCases,
    ...unloadCases,
  ]
  const names = new Set(checks.map(({ name }) => name))
  const unknown = Object.keys(subject.gaps ?? {}).filter((name) => !names.has(name))
  if (unknown.length > 0) throw new Error(`There is no case of the name "${unknown.join('", "')}".`)
  return { cases: checks.map((check) => bound(check, subject, bench)), close: () => bench.close() }
}

function bound(
  { name, needs, check }: ContractCheck,
  subject: EngineContractSubject,
  bench: ContractBench,
): EngineContractCase {
  const missing =
    needs !== undefined && subject[needs] === undefined ? `the subject has no ${needs}` : undefined
  const gap = subject.gaps?.[name] ?? missing
  return { name, ...(gap !== undefined && { gap }), run: () => check(bench) }
}
