// `npm test`: from a clean clone to the closing line in one command. Installs dependencies, builds, then runs every test this machine can
// run. Engines and the small real models are fetched beside the unit tests, which need none; all other tests wait for them
// (test/preparation/await-engines.ts). Arguments go to vitest.
import { spawn } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, installDependencies, ROOT } from './prepare-checkout.mjs'
import { prepareEngines } from './prepare-engines.mjs'

/** Appears when engines and models are here; what is in it is why they are not. */
const MARK = join(ROOT, '.cache', `prepared-${process.pid}`)

function leaveMark(text) {
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  // Under its name it is whole.
  writeFileSync(`${MARK}.new`, text)
  renameSync(`${MARK}.new`, MARK)
}

async function prepare(signal) {
  try {
    await prepareEngines(signal)
    leaveMark('')
  } catch (error) {
    console.error(`modelyard: ${error.message}`)
    leaveMark(error.message)
  }
}

/** @returns the exit code */
function runTests() {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, MODELYARD_TESTS_PREPARED: MARK },
  })
  // The terminal sends Ctrl-C to all of us, and vitest says what it has seen until then.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return new Promise((ended) => {
    child.on('error', () => ended(1))
    child.on('close', (status) => ended(status ?? 1))
  })
}

try {
  await installDependencies()
  build()
} catch (error) {
  console.error(`modelyard: ${error instanceof Error ? error.message : String(error)}`)
  console.log('\n0 passed, 1 failed, 0 skipped')
  process.exit(1)
}
const ending = new AbortController()
const prepared = prepare(ending.signal)
process.exitCode = await runTests()
// Unit tests alone need not wait for what they do not use: it is fetched by the next run.
ending.abort()
await prepared
rmSync(MARK, { force: true })
