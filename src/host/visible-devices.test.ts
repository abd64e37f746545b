import { expect, it } from 'vitest'
import { visibleDevices } from './visible-devices.ts'

const TERMS = { weights: 1, context: 0, compute: 0, base: 0 }

it('a worker sees the devices of its plan alone, by the drivers’ numbers (R14)', () => {
  expect(visibleDevices({ ram: TERMS, 'gpu:1': TERMS }, {})).toEqual({
    CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    CUDA_VISIBLE_DEVICES: '1',
    HIP_VISIBLE_DEVICES: '1',
    GGML_VK_VISIBLE_DEVICES: '1',
  })
  expect(visibleDevices({ 'gpu:10': TERMS, 'gpu:2': TERMS }, {})['CUDA_VISIBLE_DEVICES']).toBe('2,10')
})

it('a model without a device changes nothing, and what the operator chose stays', () => {
  expect(visibleDevices({ ram: TERMS }, {})).toEqual({})
  expect(visibleDevices({ 'gpu:0': TERMS }, { CUDA_VISIBLE_DEVICES: '3', CUDA_DEVICE_ORDER: '' })).toEqual({
    HIP_VISIBLE_DEVICES: '0',
    GGML_VK_VISIBLE_DEVICES: '0',
  })
})
