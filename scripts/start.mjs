// `npm start`: installs what is missing, builds, serves the default model. Arguments go to `modelyard serve`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { build, installDependencies, ROOT } from './prepare-checkout.mjs'

try {
  await installDependencies()
  build()
} catch (error) {
  console.error(`modelyard: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}

const words = process.argv.slice(2)
const server = spawn(process.execPath, [join(ROOT, 'dist/cli.js'), 'serve', ...words], { stdio: 'inherit' })
// The terminal sends Ctrl-C to the whole group; a supervisor's SIGTERM reaches only this process and is passed on.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) server.kill(signal)
  })
}
// A supervisor's SIGTERM to npm ends npm and its shell, and reaches nobody else: npm's end is a request to stop.
if (process.env.npm_lifecycle_event !== undefined) {
  const shell = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(watch)
    server.kill('SIGTERM')
  }, 250)
  watch.unref()
}
server.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 128)
})
