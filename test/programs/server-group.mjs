// One of several processes that make a server together, in miniature: rank 0 waits until the others have called on the master port, then
// serves OpenAI's API; the others, which are told so by the last argument, stay until rank 0 is gone. MODE `fails` ends rank 1 at once; `by-text` hangs in what is asked for, `port-taken:FILE` loses its port as long as there is no such file, `grows` holds more and more, and never serves.
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, createServer as listenPlainly } from 'node:net'

const [port, rank, count, master, mode, follower] = process.argv.slice(2)
const KEY = process.env['GROUP_KEY']

function answer(request, response) {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => reply(request, response, Buffer.concat(chunks).toString()))
}

function reply(request, response, body) {
  if (request.headers.authorization !== `Bearer ${KEY}`) return response.writeHead(401).end('{}')
  if (request.url === '/v1/models') return response.end(JSON.stringify({ data: [{ id: 'group' }] }))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const chunk = (text, finish) =>
    `data: ${JSON.stringify({ choices: [{ delta: { content: text }, finish_reason: finish }] })}\n\n`
  // Of a long prompt nothing comes for long.
  if (mode === 'by-text' && body.includes('one two three one')) return undefined
  response.write(chunk(`${count} processes`, null))
  if (mode === 'hangs' || (mode === 'by-text' && body.includes('Count.'))) return undefined
  return response.end(`${chunk('', 'stop')}data: [DONE]\n\n`)
}

const held = []

function serve() {
  if (mode === 'grows') setInterval(() => held.push(Buffer.alloc(4 * 1024 ** 2, 1)), 500)
  else createServer(answer).listen(Number(port), '127.0.0.1')
}

function lead() {
  let missing = Number(count) - 1
  if (missing === 0) return serve()
  return listenPlainly((socket) => {
    socket.on('error', () => undefined)
    missing--
    if (missing === 0) serve()
  }).listen(Number(master), '127.0.0.1')
}

function follow() {
  if (mode === 'fails') {
    console.error('rank 1 has no device')
    process.exit(3)
  }
  const socket = connect(Number(master), '127.0.0.1')
  // The leader may not listen yet.
  socket.on('error', () => setTimeout(follow, 50))
  socket.on('connect', () => socket.on('close', () => process.exit(0)))
}

// Something else has its port, as if it had been taken after it was chosen: at the first try, or always.
if (rank === '0' && mode.startsWith('port-taken')) {
  const file = mode.slice('port-taken:'.length)
  if (!existsSync(file)) {
    if (file !== '') writeFileSync(file, '')
    console.error(`Error: listen EADDRINUSE: address already in use 127.0.0.1:${port}`)
    process.exit(1)
  }
}
if ((rank === '0') === (follower === `--follow=${master}`))
  throw new Error(`rank ${rank} was told ${follower}`)
if (rank === '0') lead()
else follow()
