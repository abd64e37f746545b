import { describe, expect, it } from 'vitest'
import { childEnvironment } from './child-environment.ts'

describe('the environment of a child', () => {
  it('has what programs and GPU libraries need', () => {
    const ours = {
      PATH: '/bin',
      HOME: '/h',
      LC_ALL: 'C',
      CUDA_VISIBLE_DEVICES: '1',
      GGML_VK_VISIBLE_DEVICES: '0',
    }
    expect(childEnvironment({}, ours)).toEqual(ours)
  })

  it('has no secret of ours and no NODE_OPTIONS', () => {
    const ours = {
      NODE_OPTIONS: '--inspect',
      HF_TOKEN: 'a',
      OPENAI_API_KEY: 'b',
      MODELYARD_API_KEY: 'c',
      DATABASE_URL: 'd',
      XDG_SECRET: 'e',
      CUDA_API_KEY: 'f',
    }
    expect(childEnvironment({}, ours)).toEqual({})
  })

  it('lets additions win, whatever they are named', () => {
    expect(childEnvironment({ PATH: '/mine', HF_TOKEN: 'given' }, { PATH: '/bin' })).toEqual({
      PATH: '/mine',
      HF_TOKEN: 'given',
    })
  })
})
