import { createServer, type AddressInfo, type Server } from 'node:net'

/**
 * Different ports of 127.0.0.1 that nobody has now, for programs that cannot choose one themselves. A program that finds its own taken
 * nevertheless fails to start, and is started anew with another.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  try {
    return await Promise.all(servers.map(listeningPort))
  } finally {
    for (const server of servers) server.close()
  }
}

async function listeningPort(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}
