import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Builds the fast client and upstream. @throws Error where there is no Go */
export function buildFastLoad() {
  const program = join(mkdtempSync(join(tmpdir(), 'modelyard-bench-')), 'fast')
  const source = join(import.meta.dirname, 'main.go')
  execFileSync('go', ['build', '-o', program, source], { stdio: ['ignore', 'inherit', 'inherit'] })
  return program
}

/** An upstream that costs nearly nothing. @returns its address, and a function that ends it */
export async function startUpstream(program) {
  const child = spawn(program, ['serve'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { url: JSON.parse(String(line)).url, stop: () => child.stdin.end() }
}

/** @returns `{perSecond, p50}`: requests a second of so many connections, and the median in milliseconds */
export async function shoot(program, url, { body, connections, seconds }) {
  const args = ['shoot', `${url}/v1/chat/completions`, String(connections), String(seconds)]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(body))
  let text = ''
  child.stdout.on('data', (chunk) => (text += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the client ended with ${code}`)
  return JSON.parse(text)
}
