// What ships as `modelyard/testing`: a fake engine for people who test their clients, a clock that tests move, and the contract
// that every engine must keep, for people who write one.
export { ManualClock, type Clock, type Timer } from '../base/clock.ts'
export { ModelyardError, type ErrorCode } from '../base/errors.ts'
export { ScriptedEngine, type ScriptedEngineOptions } from '../engines/scripted/scripted-engine.ts'
export type {
  FailLoad,
  ScriptedOptions,
  ScriptEntry,
  ScriptPiece,
  ScriptToolCall,
} from '../engines/scripted/scripted-options.ts'
export type { EngineContractSubject, KnownChat } from './contract-subject.ts'
export { engineContract, type EngineContract, type EngineContractCase } from './engine-contract.ts'
export type { WorkContractSubject } from './work-bench.ts'
export { workContract } from './work-contract.ts'
