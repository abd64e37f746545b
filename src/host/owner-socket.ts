import { connect, createServer } from 'node:net'

/** Longest path a Unix socket can have, less a margin. */
const LONGEST_PATH = 100

/**
 * Listens on a Unix socket while we live: so that a process in another container, which cannot look up our pid, can prove that we do
 * (the kernel refuses connections as soon as the listener is dead). Nothing is ever said on it. @returns a function that closes it
 */
export async function listenAsOwner(path: string): Promise<() => void> {
  if (process.platform === 'win32' || path.length > LONGEST_PATH) return () => undefined
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => {
    server.on('error', () => resolve())
    server.listen(path, () => resolve())
  })
  server.unref()
  return () => void server.close()
}

/** Whether somebody listens there. */
export function ownerListens(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
