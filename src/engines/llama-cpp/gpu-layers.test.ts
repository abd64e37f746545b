import { describe, expect, it } from 'vitest'
import type { LoadPlan } from '../engine.ts'
import { gpuRefusal } from './gpu-layers.ts'

type Asking = Pick<LoadPlan, 'model' | 'spec' | 'footprint'>

function asking(gpu: boolean | string, more: { gpuLayers?: number; onGpu?: boolean } = {}): Asking {
  const { onGpu = false, ...device } = more
  const terms = { weights: 1, context: 1, compute: 1, base: 1 }
  return {
    model: 'm',
    spec: { device: { gpu, memoryLock: false, ...device } } as unknown as LoadPlan['spec'],
    footprint: onGpu ? { ram: terms, 'gpu:0': terms } : { ram: terms },
  }
}

describe('a GPU that is demanded (R14)', () => {
  it('and cannot be used is refused', () => {
    expect(gpuRefusal(asking(true), false, 'linux')).toBe(
      'Model "m" demands a GPU (device.gpu), and none can be used here; set it to "auto" or false.',
    )
  })

  it('and whose memory is unknown is refused: unknown means no (R5)', () => {
    expect(gpuRefusal(asking('vulkan'), true, 'linux')).toBe(
      'Model "m" demands a GPU (device.gpu), and no free memory of one is known, which counts as none; set it to "auto" or false. modelyard doctor tells what was read.',
    )
  })

  it('is used where the plan has room on it, and where memory is unified', () => {
    expect(gpuRefusal(asking(true, { onGpu: true }), true, 'linux')).toBeUndefined()
    expect(gpuRefusal(asking(true), true, 'darwin')).toBeUndefined()
    expect(gpuRefusal(asking(true, { gpuLayers: 0 }), true, 'linux')).toBeUndefined()
  })

  it('is nobody’s demand with "auto" and false: then memory decides', () => {
    expect(gpuRefusal(asking('auto'), false, 'linux')).toBeUndefined()
    expect(gpuRefusal(asking(false), false, 'linux')).toBeUndefined()
  })
})
