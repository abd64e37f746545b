import { workCases } from './contract-cases/work-cases.ts'
import { workExitCases, workLifeCases } from './contract-cases/work-exit-cases.ts'
import type { EngineContract, EngineContractCase } from './engine-contract.ts'
import { WorkBench, type WorkContractSubject } from './work-bench.ts'

/** What `engines/engine.ts` promises, for engines whose tasks are not text: the counterpart of `engineContract`. */
export function workContract(subject: WorkContractSubject): EngineContract {
  const bench = new WorkBench(subject)
  const always = { ...workCases, ...workLifeCases }
  const missing = subject.ownProcess === true ? {} : { gap: 'the subject has no ownProcess' }
  const cases = [
    ...Object.entries(always).map(([name, check]): EngineContractCase => ({ name, run: () => check(bench) })),
    ...Object.entries(workExitCases).map(([name, check]): EngineContractCase => {
      return { name, ...missing, run: () => check(bench) }
    }),
  ]
  return { cases, close: () => bench.close() }
}
