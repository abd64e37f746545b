import { ModelyardError } from '../base/errors.ts'
import type { Engine, HostFacts, LoadPlan } from '../engines/engine.ts'
import type { ModelFacts } from '../models/model-facts.ts'
import type { ModelSpec } from '../models/model-spec.ts'

/** What a request or an operator needs of a loaded model at least (M3); more is as good. */
export interface LoadWish {
  /** Tokens per slot. More than the model was trained for is taken for that. */
  context?: number
  slots?: number
}

export const NO_WISH: LoadWish = {}

/** The larger of each. */
export function togetherOf(a: LoadWish, b: LoadWish): LoadWish {
  return { context: Math.max(a.context ?? 0, b.context ?? 0), slots: Math.max(a.slots ?? 0, b.slots ?? 0) }
}

/** Whether what is there is enough. */
export function covers({ context: has = 0, slots = 0 }: LoadWish, wish: LoadWish): boolean {
  return has >= (wish.context ?? 0) && slots >= (wish.slots ?? 0)
}

/** What plans are made of. */
export interface PlanSource {
  engine: Engine
  spec: ModelSpec
  facts: ModelFacts
  host: HostFacts
  /** As the configuration has it. */
  usual: LoadPlan
}

/**
 * The model's usual plan, if that is enough for the wish, else one that is. @throws ModelyardError `invalid_request` with both numbers
 * where the engine has no such plan
 */
export function planFor({ engine, spec, facts, host, usual }: PlanSource, wish: LoadWish): LoadPlan {
  const wanted = { ...wish, context: Math.min(wish.context ?? 0, trainedFor(facts)) }
  if (covers(offerOf(usual), wanted)) return usual
  const context = Math.max(usual.contextSize, wanted.context)
  const slots = Math.max(usual.slots, wanted.slots ?? 0)
  const larger = askEngine(() => engine.plan({ ...spec, context, slots }, facts, host))
  if (covers(offerOf(larger), wanted)) return larger
  throw refused(
    `"${spec.id}" has ${larger.slots} slots of ${larger.contextSize} tokens here, and its engine cannot give it ${slots} of ${context}.`,
    larger.contextSize < context ? 'context' : 'slots',
  )
}

export function offerOf({ contextSize: context, slots }: LoadPlan): Required<LoadWish> {
  return { context, slots }
}

/** Nothing is known of engines without files. */
function trainedFor({ gguf, safetensors, onnx }: ModelFacts): number {
  return (gguf ?? safetensors ?? onnx)?.contextLength ?? Number.POSITIVE_INFINITY
}

/** What an engine says of a configuration is the request's fault here. */
function askEngine(plan: () => LoadPlan): LoadPlan {
  try {
    return plan()
  } catch (error) {
    if (!(error instanceof ModelyardError) || error.code !== 'config_invalid') throw error
    const { param } = error.details
    throw refused(error.message, typeof param === 'string' ? param : 'context', error)
  }
}

function refused(message: string, param: string, cause?: unknown): ModelyardError {
  return new ModelyardError('invalid_request', message, { details: { param }, cause })
}
