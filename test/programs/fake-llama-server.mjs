#!/usr/bin/env node
// A llama-server that does what its alias says: what the real one does rarely, or never, or only once it is too late. Every character is a
// token. The alias is the model's id: `truncated`, `test:truncated`.
import { createServer } from 'node:http'

const args = process.argv.slice(2)
const option = (name) => args[args.indexOf(name) + 1]
if (args.includes('--version')) {
  console.log('version: 1 (fake)')
  process.exit(0)
}
// Of a release in which these flags have other names than they had.
if (args.includes('--help')) {
  console.log(
    '--spec-type none,draft-simple\n--spec-draft-n-max N\n--draft-max N  the argument has been removed',
  )
  process.exit(0)
}
const mode = option('--alias').split(':').at(-1)
const key = process.env.LLAMA_API_KEY
const slots = Number(option('-np'))

if (mode === 'wrong-flag') fail('error: unknown argument: --swa-full')
if (args.includes('--draft-max'))
  fail('error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max')
if (mode === 'port-taken') fail("srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 0")
if (mode === 'no-memory')
  fail('ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 99999999999')
if (mode === 'bad-file') fail('gguf_init_from_file_impl: invalid magic characters')
if (mode === 'slow-end' || mode === 'ignores-sigterm') process.on('SIGTERM', () => undefined)

function fail(message) {
  console.error(message)
  process.exit(1)
}

const json = (response, body, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
const tokensOf = (content) =>
  (Array.isArray(content) ? content : [content]).flatMap((item) =>
    typeof item === 'string' ? Array.from(item, (character) => character.codePointAt(0)) : [item],
  )

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function complete(body, response) {
  const many = typeof body.prompt === 'object' && !Array.isArray(body.prompt)
  const total = many ? body.prompt.prompt_string.length : tokensOf(body.prompt).length
  const text =
    mode === 'vision' ? JSON.stringify(body.prompt) : mode === 'leaves-grammar' ? 'no json' : 'Hello there.'
  if (mode === 'hangs') return
  if (mode === 'stands-still') for (;;);
  if (mode === 'fails') {
    json(response, { error: { code: 500, message: 'broken', type: 'server_error' } }, 500)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (event) => response.write(`data: ${JSON.stringify(event)}\n\n`)
  send({ content: '', tokens: [0], tokens_predicted: 0, prompt_progress: { total, cache: 0, processed: 0 } })
  if (mode === 'prefills-for-ever') return
  for (const [index, character] of Array.from(text).entries()) {
    send({
      content: character,
      tokens: [character.codePointAt(0)],
      tokens_predicted: index + 1,
      tokens_evaluated: total,
    })
    await wait(1)
    if (index < 2) continue
    if (mode === 'truncated') {
      response.end()
      return
    }
    if (mode === 'cut') {
      response.destroy()
      return
    }
    if (mode === 'dies') process.kill(process.pid, 'SIGKILL')
    if (mode === 'says-error') {
      response.end(`data: ${JSON.stringify({ error: { message: 'out of slots' } })}\n\n`)
      return
    }
    if (mode === 'talks-for-ever') {
      while (!response.destroyed) {
        send({ content: 'x', tokens: [120], tokens_predicted: index + 1 })
        await wait(2)
      }
    }
  }
  send({ stop: true, stop_type: 'eos', tokens_predicted: text.length + 1, tokens_evaluated: total })
  response.end()
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    // A kept connection is closed when the next request comes on it, as the real one does after 100.
    if (mode === 'closes-kept' && request.socket.used) {
      request.socket.destroy()
      return
    }
    request.socket.used = true
    void answer(request, response, chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks)))
  })
})

function answer(request, response, body) {
  const path = request.url.split('?')[0]
  if (path === '/health') return json(response, { status: 'ok' })
  if (request.headers.authorization !== `Bearer ${key}`)
    return json(response, { error: { message: 'Invalid API Key' } }, 401)
  if (path === '/props')
    return json(response, { total_slots: slots, build_info: 'fake', media_marker: '<__media_1__>' })
  if (path === '/tokenize') return json(response, { tokens: tokensOf(body.content) })
  if (path === '/detokenize') return json(response, { content: String.fromCodePoint(...body.tokens) })
  if (path === '/completion') return complete(body, response)
  return json(response, { error: { message: 'no such path' } }, 404)
}

if (mode === 'listens-late') await wait(1200)
if (mode === 'never-listens') setInterval(() => undefined, 1000)
else
  server.listen(0, '127.0.0.1', () =>
    console.log(`server is listening on http://127.0.0.1:${server.address().port}`),
  )
