// What a fresh clone lacks: dependencies and the build. Plain Node, nothing installed is needed to run it.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { InstallationNews, packagesToFetch } from './installation-news.mjs'

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
 * Runs a command that takes long, and says every few seconds how far it is. `news` takes its lines; those that it does not take are shown
 * on standard error. @returns how long it took
 */
function runWithNews(command, args, { news, ...options }) {
  const begun = Date.now()
  const seconds = () => `${Math.round((Date.now() - begun) / 1000)} s`
  return new Promise((done, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    for (const output of [child.stdout, child.stderr]) {
      createInterface({ input: output }).on('line', (line) => {
        if (!news.take(line) && line !== '') console.error(line)
      })
    }
    const telling = setInterval(
      () => console.error(`modelyard: installing: ${news.words()}, ${seconds()}`),
      SAY_EVERY,
    )
    const end = (problem) => {
      clearInterval(telling)
      if (problem === undefined) done(seconds())
      else reject(new Error(`\`${command} ${args.join(' ')}\` failed: ${problem}`))
    }
    child.on('error', (error) => end(error.message))
    child.on('close', (status) => end(status === 0 ? undefined : `it ended with exit code ${status}`))
  })
}

/** Runs a command whose output matters only when it fails. */
function run(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, stdio: 'pipe' })
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
function packagesHere() {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  return packagesToFetch(lock, { os: process.platform, cpu: process.arch, libc: systemLibrary() })
}

/** As npm judges it. */
function systemLibrary() {
  if (process.platform !== 'linux') return undefined
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
}

export async function installDependencies() {
  if (isFresh(INSTALLED_MARK, ['package-lock.json'])) return
  const total = packagesHere()
  console.error(`modelyard: installing ${total} packages with npm, this once (a minute or two) …`)
  const took = await runWithNews('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=http'], {
    news: new InstallationNews(total),
    shell: process.platform === 'win32',
  })
  console.error(`modelyard: the packages are installed (${took}).`)
  leaveMark(INSTALLED_MARK)
}

export function build() {
  if (isFresh(BUILT_MARK, ['src', 'package.json', 'tsdown.config.ts'])) return
  console.error('modelyard: building …')
  // What the builder has to say (of this version of Node, of its own speed) matters only when it fails.
  run(process.execPath, [join(ROOT, 'node_modules/tsdown/dist/run.mjs'), '--log-level', 'warn'])
  leaveMark(BUILT_MARK)
}
