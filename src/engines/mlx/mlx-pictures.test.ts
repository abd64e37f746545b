import { describe, expect, it } from 'vitest'
import { IMAGE_MARK, picturesOf } from './mlx-pictures.ts'

const IMAGE = { text: '<image>\n', several: true }

describe('a rendered conversation with images', () => {
  it('has the model’s own text in each place', () => {
    const rendered = `user: ${IMAGE_MARK}one${IMAGE_MARK}\n`
    expect(picturesOf([rendered], ['a', 'b'], IMAGE)).toEqual({
      text: 'user: <image>\none<image>\n\n',
      images: ['a', 'b'],
    })
  })

  it.each([
    [['user: ', IMAGE_MARK], ['a'], IMAGE, 'invalid_request'],
    [[`user: <image>${IMAGE_MARK}`], ['a'], IMAGE, 'invalid_request'],
    [[`${IMAGE_MARK}${IMAGE_MARK}`], ['a', 'b'], { ...IMAGE, several: false }, 'unsupported'],
    [['user: '], ['a'], IMAGE, 'unsupported'],
  ])('%j is refused', (pieces, images, image, code) => {
    expect(() => picturesOf(pieces, images, image)).toThrow(expect.objectContaining({ code }) as Error)
  })
})
