// An OpenAI server that answers at once with 16 pieces, as fast as Node can: what a proxy adds is the rest.
import { createServer } from 'node:http'

const chunk = (delta, finish = null) =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 0, model: 'fake', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const usage = { prompt_tokens: 9, completion_tokens: 16, total_tokens: 25 }
const last = `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 0, model: 'fake', choices: [], usage })}\n\n`
const pieces = Array.from({ length: 16 }, (_, index) => chunk({ content: ` word${index}` }))
const whole = [chunk({ role: 'assistant' }), ...pieces, chunk({}, 'stop'), last, 'data: [DONE]\n\n']
const models = JSON.stringify({ object: 'list', data: [{ id: 'fake', object: 'model' }] })

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(models)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const text of whole) response.write(text)
    response.end()
  })
})
server.listen(0, '127.0.0.1', () => process.send(`http://127.0.0.1:${server.address().port}`))
process.on('disconnect', () => process.exit(0))
