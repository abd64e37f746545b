import { expect, it } from 'vitest'
import { buildJobs } from './build-jobs.ts'

const GIB = 1024 ** 3

it.each([
  [{ cores: 8, available: 64 * GIB }, 8],
  [{ cores: 8, available: 4 * GIB }, 2],
  [{ cores: 8, available: 1.5 * GIB }, 1],
  [{ cores: 8, available: 0 }, 1],
  [{ cores: 8, available: undefined }, 1],
  [{ cores: 1, available: 64 * GIB }, 1],
])('%o compile %i files at once', (machine, jobs) => {
  expect(buildJobs(machine)).toBe(jobs)
})
