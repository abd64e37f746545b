// What a fresh clone lacks: dependencies and the build. Plain Node, nothing installed is needed to run it.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

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

/** Milliseconds between two words about a command that says nothing by itself. */
const SAY_EVERY = 3000

/**
 * Runs a command that takes long, and says every few seconds what it is about. `counted` = which of its lines are steps; all others are
 * shown on standard error. @returns how long it took
 */
function runWithNews(command, args, { doing, counted, total, ...options }) {
  const begun = Date.now()
  const seconds = () => `${Math.round((Date.now() - begun) / 1000)} s`
  let steps = 0
  return new Promise((done, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    for (const output of [child.stdout, child.stderr]) {
      createInterface({ input: output }).on('line', (line) => {
        if (counted.test(line)) steps++
        else if (line !== '') console.error(line)
      })
    }
    const tell = () =>
      console.error(`modelyard: ${doing}: ${Math.min(steps, total)} of ${total} packages, ${seconds()}`)
    const news = setInterval(tell, SAY_EVERY)
    const end = (problem) => {
      clearInterval(news)
      if (problem === undefined) done(seconds())
      else reject(new Error(`\`${command} ${args.join(' ')}\` failed: ${problem}`))
    }
    child.on('error', (error) => end(error.message))
    child.on('close', (status) => end(status === 0 ? undefined : `it ended with exit code ${status}`))
  })
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

/** Packages of the lock file that are for this platform. */
function packagesToInstall() {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const suits = (list, here) => list === undefined || list.includes(here)
  const isHere = ({ os, cpu, link }) =>
    link !== true && suits(os, process.platform) && suits(cpu, process.arch)
  return Object.entries(packages).filter(([path, entry]) => path !== '' && isHere(entry)).length
}

export async function installDependencies() {
  if (isFresh(INSTALLED_MARK, ['package-lock.json'])) return
  const total = packagesToInstall()
  console.error(`modelyard: installing ${total} packages with npm, this once (a minute or two) …`)
  const took = await runWithNews('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=http'], {
    doing: 'installing',
    counted: /^npm http /,
    total,
    shell: process.platform === 'win32',
  })
  console.error(`modelyard: the packages are installed (${took}).`)
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
