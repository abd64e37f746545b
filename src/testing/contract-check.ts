import type { EngineCapabilities } from '../engines/engine.ts'
import type { ContractBench } from './contract-bench.ts'

type Capability = Exclude<keyof EngineCapabilities, 'tasks'>

/** A case before it is bound to a subject. */
export interface ContractCheck {
  name: string
  /** What the subject must have for it. */
  needs?:
    | 'unicode'
    | 'continuation'
    | 'embedding'
    | 'holdsFormats'
    | 'ownProcess'
    | 'corrupt'
    | 'foreignOption'
  /** Not asked of an engine whose capabilities say that it cannot do this. */
  asks?: Capability | 'completion'
  /** An engine may list the case as a gap when this is false of it; without it there are no gaps. */
  unless?: Capability
  check: (bench: ContractBench) => Promise<void>
}
