import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const TOOL_LIMIT = 600_000
const ROOT = resolve(import.meta.dirname, '../..')

function runTool(path: string, args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules', path), ...args],
    {
      cwd: ROOT,
      encoding: 'utf8',
      // Packing must not build: `dist/` would be gone for seconds under the tests that run beside this one.
      // The linter and the compiler are written in Go, and collect garbage for a third of their time where they may not use some memory.
      env: { ...process.env, NO_COLOR: '1', npm_config_ignore_scripts: 'true', GOGC: '400' },
    },
  )
  return { status, output: stdout + stderr }
}

describe('habits', () => {
  it.each([
    ['the formatter has nothing to change', 'oxfmt/bin/oxfmt', ['--check']],
    [
      'the linter has no finding, floating promises included',
      'oxlint/bin/oxlint',
      ['--type-aware', '--deny-warnings'],
    ],
    // On two cores, several checkers only look at the same types several times.
    ['types hold', 'typescript7/bin/tsc', ['--noEmit', '--checkers', '1']],
    ['nothing is exported that nobody uses, no dependency is unused', 'knip/bin/knip.js', ['--no-progress']],
    ['the package is shaped as its manifest says', 'publint/src/cli.js', ['--strict']],
    [
      'its types resolve for those who import it',
      '@arethetypeswrong/cli/dist/index.js',
      ['--pack', '.', '--profile', 'esm-only', '--no-emoji'],
    ],
  ])(
    '%s',
    (_, path, args) => {
      const { status, output } = runTool(path, args)
      expect({ status, output: status === 0 ? '' : output }).toEqual({ status: 0, output: '' })
    },
    // The linter takes a minute alone, and several where the machine is shared.
    TOOL_LIMIT,
  )

  it('every name in backticks in ARCHITECTURE.md that looks like a path exists', () => {
    const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
    const paths = [...text.matchAll(/`((?:src|test|docs|bench|scripts)\/[\w./-]*)`/g)].map(
      ([, path]) => path ?? '',
    )
    expect(paths.length).toBeGreaterThan(10)
    const tracked = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
      cwd: ROOT,
      encoding: 'utf8',
    }).stdout
    const known = tracked.split('\n')
    expect(
      paths.filter(
        (path) => !known.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`)),
      ),
    ).toEqual([])
  })

  it('no file names a registry host', () => {
    const hosts = ['registry.npmjs', 'files.pythonhosted', 'pypi'].map((name) => `${name}.org`)
    const found = hosts.flatMap((host) => {
      const { stdout } = spawnSync('git', ['grep', '-l', '-F', host], { cwd: ROOT, encoding: 'utf8' })
      return stdout.split('\n').filter((file) => file !== '')
    })
    expect(found).toEqual([])
  })
})
