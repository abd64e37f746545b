import { expect, it } from 'vitest'
import { versionIn } from './program-version.ts'

it.each([
  [['version: 4567 (abcdef0)', 'built with cc'], '4567'],
  [['stable-diffusion.cpp version master-504-636d3cb, commit 636d3cb'], 'master-504-636d3cb'],
  // What release builds of stable-diffusion.cpp say.
  [['stable-diffusion.cpp version unknown, commit 6b3edaa'], '6b3edaa'],
  [[' something else '], 'something else'],
  [[], undefined],
])('of what a program says, %j, %s is its version', (lines, version) => {
  expect(versionIn(lines)).toBe(version)
})
