import { describe, expect, it } from 'vitest'
import { isTiled } from './sd-server-plan.ts'
import { largestSize, sizeProblem, usualSize } from './image-size.ts'

describe('sizes of pictures', () => {
  it('are 512x512 and at most 1024x1024 where nobody says anything, and never above what somebody says', () => {
    expect(usualSize({})).toEqual({ width: 512, height: 512 })
    expect(largestSize({})).toEqual({ width: 1024, height: 1024 })
    expect(usualSize({ largestSize: '256x128' })).toEqual({ width: 256, height: 128 })
    expect(usualSize({ size: '768x512' })).toEqual({ width: 768, height: 512 })
  })

  it.each([
    [64, 64, true],
    [4096, 64, true],
    [0, 64, false],
    [32, 64, false],
    [64, 72, false],
    [4160, 64, false],
  ])('%d x %d is right: %s', (width, height, isRight) => {
    expect(sizeProblem({ width, height }, 'size') === undefined).toBe(isRight)
  })

  it.each([
    [512, 512, 'auto', false],
    [512, 576, 'auto', true],
    [64, 64, true, true],
    [1024, 1024, false, false],
  ] as const)('%d x %d with vaeTiling %s is decoded in tiles: %s', (width, height, vaeTiling, tiled) => {
    expect(isTiled({ width, height }, { vaeTiling })).toBe(tiled)
  })
})
