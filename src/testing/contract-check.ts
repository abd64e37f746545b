import type { ContractBench } from './contract-bench.ts'

/** A case before it is bound to a subject. `needs` names what the subject must have for it. */
export interface ContractCheck {
  name: string
  needs?: 'unicode' | 'continuation' | 'embedding' | 'holdsFormats'
  check: (bench: ContractBench) => Promise<void>
}
