#!/usr/bin/env node
// A Python that is asked for our launcher of mlx_vlm and says what that would say, each character a token, each image three tokens of 9; the model's
// folder says what it does. What is answered is what it was given: the text of the prompt, and the bytes of the images.
import { createServer } from 'node:http'
import { basename } from 'node:path'

const [how, launcher, told] = process.argv.slice(2)
const mode = basename(JSON.parse(told).model)
const key = process.env.MODELYARD_SERVER_KEY
if (how !== '-c' || !launcher.includes('mlx_vlm')) fail('ValueError: not asked for mlx_vlm')
if (mode === 'needs-torch')
  fail('ImportError: Qwen2VLVideoProcessor requires the Torchvision library but it was not found.')

function fail(words) {
  console.error(words)
  process.exit(1)
}

const image = mode === 'blind' ? null : { text: '<img>', several: mode !== 'single' }
const vocabulary = {
  control: [
    [1, '<end>', true],
    [9, '<img>', false],
  ],
  userDefined: [],
  size: 1_114_112,
  longestToken: 5,
  template: null,
  begin: null,
  end: '<end>',
  image,
}
const idsOf = (text) => Array.from(text, (character) => character.codePointAt(0))

const routes = {
  '/health': () => ({ healthy: true }),
  '/vocabulary': () => vocabulary,
  '/tokenize': ({ pieces }) => ({ ids: pieces.flatMap((piece) => idsOf(piece)) }),
  '/detokenize': ({ ids }) => ({ text: String.fromCodePoint(...ids) }),
  '/images': ({ text }) => ({
    ids: text.split('<img>').flatMap((part, index) => [...(index > 0 ? [9, 9, 9] : []), ...idsOf(part)]),
  }),
}

function generate({ pictures, prompt, maxTokens }, response) {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const send = (line) => response.write(`${JSON.stringify(line)}\n`)
  send({ cached: 0 })
  if (mode === 'prefills-for-ever') return
  const answer = JSON.stringify({ ...pictures, tokens: prompt.length })
  for (const id of idsOf(answer).slice(0, maxTokens)) {
    send({ text: String.fromCodePoint(id), id, logprob: -1, top: [], end: null })
    if (mode === 'cut-off') break
  }
  if (mode !== 'cut-off') send({ text: '', id: 1, logprob: 0, top: [], end: 'stop' })
  response.end()
}

async function hear(request, response) {
  let text = ''
  for await (const piece of request) text += piece
  const body = text === '' ? undefined : JSON.parse(text)
  const isPicky = request.url === '/images' && mode === 'picky'
  if (request.headers.authorization !== `Bearer ${key}`) response.writeHead(401).end('{}')
  else if (request.url === '/generate') generate(body, response)
  else if (isPicky) response.writeHead(422).end('{"error": {"message": "Image 1 of 1 is damaged."}}')
  else response.end(JSON.stringify(routes[request.url](body)))
}

const server = createServer((request, response) => void hear(request, response))
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`))
process.stdin.resume().on('end', () => process.exit(0))
