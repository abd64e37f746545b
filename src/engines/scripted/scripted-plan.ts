import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { declaredBytes, declaredFootprint } from '../declared-memory.ts'
import { readEngineOptions } from '../engine-options.ts'
import type { EngineCapabilities, LoadPlan } from '../engine.ts'
import { hashOf } from '../planning.ts'
import { compileScript } from './script.ts'
import type { ScriptedOptions } from './scripted-options.ts'
import { scriptedOptionsShape } from './scripted-shapes.ts'

const DEFAULT_CONTEXT = 8192
const DEFAULT_MEMORY = 1024 ** 2

/** Everything that a script can say: a client can be tested against any feature of it. */
export const SCRIPTED_CAPABILITIES: EngineCapabilities = {
  tasks: ['chat', 'completion', 'embedding', 'rerank'],
  tools: true,
  structuredOutput: true,
  logprobs: true,
  reasoning: true,
  images: true,
  audio: true,
  prefill: true,
  infill: true,
  tokenInput: true,
  echo: true,
  promptLogprobs: true,
  logitBias: true,
  grammar: true,
  zeroShot: false,
  imageEmbedding: true,
  finishesAborted: false,
  tokenizes: true,
  namesStops: true,
  keepsPrefixes: true,
  parks: true,
}

/** @throws ModelyardError `config_invalid` naming the model and the option */
export function scriptedOptions(spec: ModelSpec): ScriptedOptions {
  return readEngineOptions('scripted', scriptedOptionsShape, spec)
}

export function planScripted(spec: ModelSpec, facts: ModelFacts): LoadPlan {
  const options = scriptedOptions(spec)
  if (Array.isArray(options.script)) compileScript(options.script)
  const contextSize = spec.context ?? spec.defaultContext ?? DEFAULT_CONTEXT
  const threads = spec.device.threads ?? 0
  const memory = options.memory ?? { ram: DEFAULT_MEMORY }
  return {
    engine: 'scripted',
    model: spec.id,
    key: hashOf(['scripted', spec.id, contextSize, spec.slots, threads, options]),
    contextSize,
    slots: spec.slots,
    threads,
    footprint: declaredFootprint(memory),
    loadBytes: declaredBytes(memory),
    capabilities: { ...SCRIPTED_CAPABILITIES, ...options.capabilities },
    spec,
    facts,
  }
}
