// A bare pass-through: node:http in front, undici's `pool.stream` behind it, nothing read and nothing kept. Started with the upstream's address.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const pool = new Pool(process.argv[2], { connections: 64 })

const server = createServer((request, response) => {
  const { method, url: path, headers } = request
  const open = ({ statusCode, headers: answered }) => {
    response.writeHead(statusCode, { 'content-type': answered['content-type'] })
    return response
  }
  const sent = { 'content-type': headers['content-type'] ?? 'application/json' }
  const body = method === 'POST' ? request : undefined
  pool.stream({ path, method, headers: sent, body }, open).catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => process.send(`http://127.0.0.1:${server.address().port}`))
process.on('disconnect', () => process.exit(0))
