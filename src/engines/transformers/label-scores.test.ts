import { describe, expect, it } from 'vitest'
import { likelihood } from '../../base/likelihood.ts'
import { judgementOf, ranked, shares, zeroShotScores } from './label-scores.ts'

describe('scores of labels', () => {
  it('of alternatives sum to 1, however large the numbers are', () => {
    expect(shares([0, 0])).toEqual([0.5, 0.5])
    expect(shares([1000, 1000 - Math.log(3)])).toEqual([expect.closeTo(0.75, 9), expect.closeTo(0.25, 9)])
    expect(likelihood(0)).toBe(0.5)
  })

  it('come with the likeliest first, equal ones in their order; labels without a name get a number', () => {
    expect(ranked(['a', 'b'], [0.2, 0.5, 0.2])).toEqual([
      { label: 'b', score: 0.5 },
      { label: 'a', score: 0.2 },
      { label: 'LABEL_2', score: 0.2 },
    ])
  })
})

describe('labels of one’s own', () => {
  it.each([
    [['contradiction', 'neutral', 'entailment'], { follows: 2, contradicts: 0 }],
    [['ENTAILMENT', 'NOT_ENTAILMENT'], { follows: 0, contradicts: 1 }],
    [['entailment'], { follows: 0 }],
    [['POSITIVE', 'NEGATIVE'], undefined],
    [[], undefined],
  ])('a model with the labels %j judges sentences: %j', (labels, judgement) => {
    expect(judgementOf(labels)).toEqual(judgement)
  })

  const judgement = { follows: 1, contradicts: 0 }

  it('are weighed against each other by how far they follow', () => {
    expect(
      zeroShotScores(
        [
          [9, 0],
          [-9, 0],
        ],
        judgement,
        false,
      ),
    ).toEqual([0.5, 0.5])
  })

  it('or each for itself, against its contrary; one alone is, too', () => {
    expect(
      zeroShotScores(
        [
          [0, 0],
          [Math.log(3), 0],
        ],
        judgement,
        true,
      ),
    ).toEqual([0.5, expect.closeTo(0.25, 9)])
    expect(zeroShotScores([[0, Math.log(3)]], judgement, false)).toEqual([expect.closeTo(0.75, 9)])
    expect(zeroShotScores([[5, 0]], { follows: 1 }, true)).toEqual([0.5])
  })
})
