import { describe, expect, it } from 'vitest'
import { oversizedFile, oversizedWarning, refuseOversized } from './fetch-limit.ts'

const GIB = 2 ** 30
const limits = (...budgets: number[]): Parameters<typeof oversizedFile>[2] => ({
  memory: Object.fromEntries(
    budgets.map((budget, index) => [index === 0 ? 'ram' : `gpu:${index - 1}`, { budget, absolute: budget }]),
  ),
})

describe('a model that is to be fetched', () => {
  it('R6: is refused with both numbers when its file is larger than all budgets together', () => {
    const refused = (): void => refuseOversized('big', 80 * GIB, limits(6 * GIB, 24 * GIB))
    expect(refused).toThrow(/has 80 GiB, the budget of ram and gpu:0 is 30 GiB: .* modelyard pull big$/)
    expect(oversizedFile('big', 80 * GIB, limits(6 * GIB, 24 * GIB))?.details).toEqual({
      model: 'big',
      fileBytes: 80 * GIB,
      need: 72 * GIB,
      limit: 30 * GIB,
    })
    expect(() => refuseOversized('any', 10, limits(0))).toThrow('the budget of ram is 0 B')
  })

  it('is fetched when it may fit: what exactly it takes is known from the whole file alone', () => {
    expect(oversizedFile('big', 30 * GIB, limits(6 * GIB, 24 * GIB))).toBeUndefined()
    expect(oversizedFile('edge', 10 * GIB, limits(9 * GIB))).toBeUndefined()
  })

  it('is only warned of when somebody pulls it', () => {
    expect(oversizedWarning('big', 80 * GIB, limits(6 * GIB))).toMatch(/It is fetched all the same/)
    expect(oversizedWarning('small', GIB, limits(6 * GIB))).toBeUndefined()
  })
})
