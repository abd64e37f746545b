// A bare node:http server that does the same work as the path under test: reads and parses the body, answers the same bytes.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const { model } = JSON.parse(Buffer.concat(chunks).toString())
    const body = JSON.stringify({
      id: 'chatcmpl-0',
      object: 'chat.completion',
      created: 0,
      model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
})
// To whoever forked it, or on standard output.
const say = process.send?.bind(process) ?? console.log
server.listen(0, '127.0.0.1', () => say(`http://127.0.0.1:${server.address().port}`))
process.on('disconnect', () => process.exit(0))
