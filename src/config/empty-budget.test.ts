import { describe, expect, it } from 'vitest'
import { emptyBudgetWarning } from './empty-budget.ts'

describe('a budget of 0 bytes', () => {
  it('is told with what follows from it, by domain', () => {
    const memory = { ram: { budget: 0, absolute: 1024 }, 'gpu:0': { budget: 1, absolute: 1 } }
    expect(emptyBudgetWarning({ memory })).toMatch(/^The budget of ram is 0 bytes: no model is loaded there/)
  })

  it('is not warned of where there is none', () => {
    expect(emptyBudgetWarning({ memory: { ram: { budget: 1, absolute: 1 } } })).toBeUndefined()
    expect(emptyBudgetWarning({ memory: {} })).toBeUndefined()
  })
})
