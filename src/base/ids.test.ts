import { expect, it } from 'vitest'
import { createId, createOrderedId } from './ids.ts'

it('ids are 24 hex digits after their prefix, each another', () => {
  const ids = Array.from({ length: 2000 }, (_, index) =>
    index % 2 === 0 ? createId('run_') : createOrderedId('run_', 1_700_000_000_000.5),
  )
  expect(ids.filter((id) => !/^run_[0-9a-f]{24}$/.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(2000)
})

it('ordered ids grow with time, at whatever time', () => {
  const times = [-5, 0, 1, 999, 1_700_000_000_000, 1_700_000_000_001, 9_000_000_000_000]
  const ids = times.map((time) => createOrderedId('', time))
  expect(ids.toSorted().slice(2)).toEqual(ids.slice(2))
})
