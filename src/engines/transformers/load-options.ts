import type { LoadPlan } from '../engine.ts'
import type { ModelOptions } from './transformers-module.ts'
import { precisionOf } from './transformers-plan.ts'

/** How the sessions of a plan are made: which graphs, and never more threads than were granted (R17). */
export function loadOptions({ spec, facts, threads }: LoadPlan): ModelOptions {
  const onnx = facts.onnx ?? { architectures: [], labels: [], graphs: [], missing: [] }
  return {
    dtype: precisionOf(spec, onnx),
    device: 'cpu',
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  }
}
