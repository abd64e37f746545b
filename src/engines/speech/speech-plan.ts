import { ModelyardError } from '../../base/errors.ts'
import type { Footprint } from '../../host/memory.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { requireWholeFolder } from '../../models/onnx/needed-files.ts'
import { NO_CAPABILITIES, type EngineCapabilities, type HostFacts, type LoadPlan } from '../engine.ts'
import { hashOf, threadsOf } from '../planning.ts'
import { speechOptions } from './speech-options.ts'

const MIB = 2 ** 20

export const SPEECH_CAPABILITIES: EngineCapabilities = { ...NO_CAPABILITIES, tasks: ['speech'] }

/** Bytes of a worker that has loaded the package, with all pages of its program, and of making a long sentence: measured, Linux x64, 1.13.8. */
const PROCESS_BASE = 130 * MIB
const COMPUTE = 100 * MIB

/** What a load needs and can do; pure. @throws ModelyardError `unsupported`, `config_invalid`, `model_file_invalid` */
export function planSpeech(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
  const { onnx } = facts
  if (onnx === undefined || facts.path === undefined || facts.purpose !== 'speech') {
    const message = `Model "${spec.id}" is no folder with a voice (a graph, tokens.txt); the engine speech runs nothing else.`
    throw new ModelyardError('unsupported', message)
  }
  requireWholeFolder(spec.id, facts)
  const weights = onnx.graphs.reduce((sum, { bytes }) => sum + bytes, 0)
  const threads = threadsOf(spec, host)
  const footprint: Footprint = { ram: { weights, context: 0, compute: COMPUTE, base: PROCESS_BASE } }
  const parts = ['speech', facts.contentId, threads, speechOptions(spec)]
  return {
    engine: 'speech',
    model: spec.id,
    key: hashOf(parts),
    // Texts are spoken sentence by sentence: none is too long.
    contextSize: 1,
    slots: 1,
    threads,
    footprint,
    takenLater: { ram: COMPUTE },
    loadBytes: weights,
    capabilities: SPEECH_CAPABILITIES,
    spec,
    facts,
  }
}
