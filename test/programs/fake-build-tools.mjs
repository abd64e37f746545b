// Stands for git, cmake, ninja and a compiler: `node fake-build-tools.mjs TOOL …`. What goes wrong is in FAKE_BUILD; what was called goes to
// FAKE_BUILD_CALLS, one line of JSON each.
import { spawn } from 'node:child_process'
import { appendFileSync, chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [, , tool, ...args] = process.argv
const mode = process.env.FAKE_BUILD ?? ''
appendFileSync(process.env.FAKE_BUILD_CALLS, `${JSON.stringify([tool, ...args])}\n`)

const SERVER = `#!/bin/sh
echo "version: 0.4.0-dev (build 1, commit 80fb11a)"
`

const TOOLS = {
  git() {
    const folder = args.at(-1)
    // The real bundle has one commit and no name for it.
    if (args.includes('--branch')) end(128, 'fatal: Remote branch v0.4.0 not found in upstream origin')
    mkdirSync(folder, { recursive: true })
    if (mode === 'clone-fails') end(128, 'fatal: this is not a bundle')
    writeFileSync(join(folder, 'CMakeLists.txt'), '')
  },
  cmake() {
    const build = args[args.indexOf('-B') + 1]
    if (mode === 'configure-fails')
      end(1, 'CMake Error at CMakeLists.txt:2 (project): The CXX compiler is broken')
    mkdirSync(join(build, 'bin'), { recursive: true })
    console.log('-- Configuring done (0.1s)')
  },
  ninja() {
    const build = args[args.indexOf('-C') + 1]
    const done = join(build, 'first.o')
    const steps = existsSync(done) ? 1 : 2
    if (steps === 2) console.log('[1/2] Building CXX object first.o')
    writeFileSync(done, '')
    if (mode === 'memory')
      end(1, 'FAILED: second.o\nc++: fatal error: Killed signal terminated program cc1plus')
    if (mode === 'hangs') return hang(build)
    console.log(`[${steps}/${steps}] Linking CXX executable bin/llama-server`)
    writeFileSync(
      join(build, 'bin', 'llama-server'),
      mode === 'no-program' ? '#!/bin/sh\nexit 132\n' : SERVER,
    )
    chmodSync(join(build, 'bin', 'llama-server'), 0o755)
  },
}

function end(code, words) {
  console.error(words)
  process.exit(code)
}

/** A compiler that works for ever, whose number is told. */
function hang(build) {
  const compiler = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  writeFileSync(join(build, 'compiler.pid'), String(compiler.pid))
  console.log('[1/2] Building CXX object second.o')
  setInterval(() => undefined, 1000)
}

TOOLS[tool]?.()
