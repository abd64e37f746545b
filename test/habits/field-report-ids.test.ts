import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** Field reports about contexts: each has a test of its name. */
const REPORTS = Array.from({ length: 63 - 47 + 1 }, (_, index) => `BR-${47 + index}`)

/** The names of all tests, up to the end of their line. */
function testNames(): string[] {
  const { stdout } = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '*.test.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const files = stdout.split('\n').filter((file) => file !== '')
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const called = /\b(?:it|describe)(?:\.\w+(?:\([^)]*\))?)?\(\s*(['"`].*)/g
    const listed = /\]\)\(\s*(['"`].*)/g
    return [...text.matchAll(called), ...text.matchAll(listed)].map(([, name = '']) => name)
  })
}

describe('field reports of contexts', () => {
  it('each is named by a test', () => {
    const names = testNames()
    expect(names.length).toBeGreaterThan(1000)
    const missing = REPORTS.filter((report) => !names.some((name) => new RegExp(`${report}\\b`).test(name)))
    expect(missing).toEqual([])
  })
})
