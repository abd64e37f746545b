import { describe, expect, it } from 'vitest'
import { complaintsIn, newsOf } from './log-line.ts'

describe('lines of an sd-server', () => {
  it.each([
    ['  |======>                  | 3/20 - 1.52s/it\u001B[K', { stage: 'computing' }],
    ['  |##########################################| 4/4 - 3.14it/s', { stage: 'computing' }],
    ['  |=========>               | 566/1132 - 1.66GB/s', { stage: 'reading', fraction: 0.5 }],
    ['  |=========================| 298/298 - 0.00MB/s', { stage: 'reading', fraction: 1 }],
    ['  |                         | 0/0 - 0.00MB/s', undefined],
    ['[INFO ] stable-diffusion.cpp:1323 - generating image: 1/1 - seed 42', { stage: 'computing' }],
    ['[INFO ] stable-diffusion.cpp:1326 - decoding 1 latents', { stage: 'computing' }],
    ['[INFO ] stable-diffusion.cpp:3069 - sampling completed, taking 4946.08s', { stage: 'computing' }],
    ['[INFO ] main.cpp:112  - listening on: 127.0.0.1:1234', undefined],
    ['', undefined],
  ])('%j tells %j', (line, news) => {
    expect(newsOf(line)).toEqual(news)
  })

  it('that are complaints are those alone, without their place, and cut', () => {
    const lines = [
      '[INFO ] stable-diffusion.cpp:180  - loading model',
      "[ERROR] stable-diffusion.cpp:410  - get sd version from file failed: ''",
      '[ERROR  ] new_sd_ctx_t failed',
      '[ERROR] ',
      `[ERROR] a.cpp:1 - ${'x'.repeat(1000)}`,
    ]
    expect(complaintsIn(lines)).toEqual([
      "get sd version from file failed: ''",
      'new_sd_ctx_t failed',
      'x'.repeat(300),
    ])
    expect(complaintsIn([])).toEqual([])
  })
})
