import { describe, expect, it } from 'vitest'
import { specOf } from '../../models/__fixtures__/model-spec.ts'
import type { ModelFacts, ModelPurpose, OnnxFacts } from '../../models/model-facts.ts'
import type { HostFacts, LoadPlan } from '../engine.ts'
import { planTransformers, precisionOf } from './transformers-plan.ts'

const HOST: HostFacts = { cores: 4, memory: { ram: { total: 8e9, available: 8e9, source: 'test' } } }

function factsOf(purpose: ModelPurpose, onnx: Partial<OnnxFacts>): ModelFacts {
  return {
    format: 'onnx',
    path: '/models/one',
    fileSize: 0,
    contentId: 'one',
    purpose,
    onnx: { architectures: [], labels: [], graphs: [], missing: [], ...onnx },
  }
}

/** Graphs by their names, each a power of two of bytes, so that a sum tells which are in it. */
function graphs(...names: string[]): OnnxFacts['graphs'] {
  return names.map((name, index) => ({ file: `onnx/${name}.onnx`, bytes: 2 ** index }))
}

function planOf(purpose: ModelPurpose, onnx: Partial<OnnxFacts>, options: object = {}): LoadPlan {
  const engineOptions = { ...options }
  return planTransformers(
    specOf('one', { engine: 'transformers', engineOptions }),
    factsOf(purpose, onnx),
    HOST,
  )
}

const CAPTIONER = {
  modelType: 'vision-encoder-decoder',
  graphs: graphs('encoder_model', 'decoder_model', 'decoder_model_merged', 'decoder_with_past_model'),
}
const CLIP = {
  modelType: 'clip',
  graphs: graphs('model', 'text_model', 'vision_model', 'model_quantized', 'text_model_quantized'),
}

describe('what loading an ONNX folder needs and can do', () => {
  it('counts the graphs that are loaded, not those that lie beside them', () => {
    expect(planOf('captioning', CAPTIONER).footprint.ram?.weights).toBe(1 + 4)
    expect(planOf('embedding', CLIP).footprint.ram?.weights).toBe(2 + 4)
    expect(planOf('embedding', { graphs: graphs('model', 'model_quantized') }).loadBytes).toBe(2)
  })

  it('takes a precision that all graphs have, and refuses one that only some have', () => {
    expect(precisionOf(specOf('one'), factsOf('embedding', CLIP))).toBe('fp32')
    expect(() => planOf('embedding', CLIP, { precision: 'q8' })).toThrow(
      /no graphs of precision q8; it has: fp32/,
    )
  })

  it('is the same load where the usual precision is written down, and another with another', () => {
    const both = { graphs: graphs('model', 'model_quantized') }
    const { key } = planOf('embedding', both)
    expect(planOf('embedding', both, { precision: 'q8' }).key).toBe(key)
    expect(planOf('embedding', both, { precision: 'fp32' }).key).not.toBe(key)
    expect(planOf('embedding', both, { pooling: 'cls' }).key).not.toBe(key)
  })

  it('refuses graphs that have no precision in common', () => {
    const mixed = { modelType: 'whisper', graphs: graphs('encoder_model', 'decoder_model_merged_quantized') }
    expect(() => planOf('transcription', mixed)).toThrow(/it has: none that all of them have\./)
  })

  it.each<[string, ModelPurpose, Partial<OnnxFacts>, object]>([
    ['a captioner', 'captioning', CAPTIONER, { tasks: ['captioning'], images: false, imageEmbedding: false }],
    [
      'CLIP',
      'embedding',
      CLIP,
      { tasks: ['embedding', 'classification'], images: true, zeroShot: true, imageEmbedding: true },
    ],
    [
      'SigLIP',
      'embedding',
      { ...CLIP, modelType: 'siglip' },
      { tasks: ['embedding'], images: false, zeroShot: false, imageEmbedding: true },
    ],
    [
      'DINO',
      'embedding',
      { modelType: 'dinov2', graphs: graphs('model') },
      { tasks: ['embedding'], imageEmbedding: true },
    ],
    [
      'an encoder of texts',
      'embedding',
      { modelType: 'bert', graphs: graphs('model') },
      { tasks: ['embedding'], images: false, imageEmbedding: false },
    ],
    [
      'a judge of sentences',
      'classification',
      { labels: ['entailment', 'neutral'], graphs: graphs('model') },
      { tasks: ['classification'], images: false, zeroShot: true, imageEmbedding: false },
    ],
  ])('%s can do this and nothing else', (_, purpose, onnx, capabilities) => {
    expect(planOf(purpose, onnx).capabilities).toMatchObject(capabilities)
  })

  it('knows how long texts may be, of a kind where its folder says nothing', () => {
    expect(planOf('embedding', CLIP).contextSize).toBe(77)
    expect(planOf('embedding', { ...CLIP, modelType: 'siglip' }).contextSize).toBe(64)
    expect(planOf('captioning', { ...CAPTIONER, contextLength: 1024 }).contextSize).toBe(1024)
    expect(planOf('embedding', { graphs: graphs('model') }).contextSize).toBe(512)
  })

  it('books memory for images where there are some', () => {
    const texts = planOf('embedding', { graphs: graphs('model') }).footprint.ram?.compute ?? 0
    expect(planOf('embedding', CLIP).footprint.ram?.compute).toBeGreaterThan(texts)
  })

  it('refuses a writer of another kind before anything is loaded', () => {
    const blip = { modelType: 'blip', graphs: CAPTIONER.graphs }
    expect(() => planOf('captioning', blip)).toThrow(/"one" is blip; .*vision-encoder-decoder/)
  })
})
