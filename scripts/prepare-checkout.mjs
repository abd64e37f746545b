// What a fresh clone lacks: dependencies and the build. Plain Node, nothing installed is needed to run it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '..')
const INSTALLED_MARK = join(ROOT, 'node_modules', '.modelyard-installed')
const BUILT_MARK = join(ROOT, 'dist', '.modelyard-built')

function newestChange(paths) {
  return Math.max(...paths.map((path) => newestIn(join(ROOT, path))))
}

function newestIn(path) {
  if (!existsSync(path)) return 0
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newestIn(join(path, name))))
}

/**
 * Runs a command with its output shown on standard error, so that standard output stays the program's own; with `stdio: 'pipe'` it is
 * shown only when the command fails.
 */
export function run(command, args, options = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
    ...options,
  })
  if (error !== undefined || status !== 0) {
    for (const output of [stdout, stderr]) process.stderr.write(output ?? '')
    const why = error?.message ?? `it ended with exit code ${status}`
    throw new Error(`\`${command} ${args.join(' ')}\` failed: ${why}`)
  }
}

function isFresh(mark, sources) {
  return existsSync(mark) && statSync(mark).mtimeMs >= newestChange(sources)
}

function leaveMark(path) {
  mkdirSync(resolve(path, '..'), { recursive: true })
  writeFileSync(path, '')
}

export function installDependencies() {
  if (isFresh(INSTALLED_MARK, ['package-lock.json'])) return
  console.error('modelyard: installing dependencies …')
  run('npm', ['ci', '--no-audit', '--no-fund'], { shell: process.platform === 'win32' })
  leaveMark(INSTALLED_MARK)
}

export function build() {
  if (isFresh(BUILT_MARK, ['src', 'package.json', 'tsdown.config.ts'])) return
  console.error('modelyard: building …')
  // What the builder has to say (of this version of Node, of its own speed) matters only when it fails.
  run(process.execPath, [join(ROOT, 'node_modules/tsdown/dist/run.mjs'), '--log-level', 'warn'], {
    stdio: 'pipe',
  })
  leaveMark(BUILT_MARK)
}
