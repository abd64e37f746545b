// `npm test`: from a clean clone to the closing line in one command. Installs dependencies, builds, fetches the engine and the small real
// model with the product's own commands, then runs every test this machine can run. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build, installDependencies, ROOT, run } from './prepare-checkout.mjs'

const HOME = join(ROOT, '.cache', 'home')

function prepare() {
  installDependencies()
  build()
  const environment = { ...process.env, MODELYARD_HOME: HOME }
  const cli = join(ROOT, 'dist/cli.js')
  run(process.execPath, [cli, 'engines', 'install', 'node-llama-cpp'], { env: environment })
  run(process.execPath, [cli, 'pull', 'smollm2'], { env: environment })
}

try {
  prepare()
} catch (error) {
  console.error(`modelyard: ${error instanceof Error ? error.message : error}`)
  console.log('\n0 passed, 1 failed, 0 skipped')
  process.exit(1)
}
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
