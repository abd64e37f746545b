import type { LoadPlan } from '../engine.ts'
import type { ModelOptions } from './transformers-module.ts'
import { precisionOf } from './transformers-plan.ts'

/** How the sessions of a plan are made: which graphs, and never more threads than were granted (R17). @param graph where it is not `model` */
export function loadOptions({ spec, facts, threads }: LoadPlan, graph?: string): ModelOptions {
  return {
    dtype: precisionOf(spec, facts),
    ...(graph !== undefined && { model_file_name: graph }),
    device: 'cpu',
    session_options: { intraOpNumThreads: threads, interOpNumThreads: 1 },
  }
}
