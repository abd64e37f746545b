import { abortError, onAbort } from '../../base/abort.ts'
import { ServerConnection } from './server-connection.ts'
import { WorkerChild, type WorkerChildOptions } from './worker-child.ts'
import type { WorkerExit } from './worker-exit.ts'

export interface LaunchOptions extends WorkerChildOptions {
  /** What it prints when it listens; its first group is the port. */
  listening: RegExp
  /** Sent with each request, and told the child in its environment: a process's environment is its user's alone, its command line everybody's. */
  key: string
  /** A route that answers at once whatever is computed. Default `/health`. */
  healthPath?: string
  signal: AbortSignal
  /** Words for an exit before it was ready. */
  failure: (exit: WorkerExit) => Error
  /** Called once it runs, long before it listens. */
  onStarted?: (child: WorkerChild) => void
  /** Waits until it is. Default: listening is enough. */
  untilReady?: (child: WorkerChild, connection: ServerConnection) => Promise<void>
}

export interface LaunchedServer {
  child: WorkerChild
  connection: ServerConnection
}

/** Starts a program that serves HTTP on a port of its own choice. Nothing stays when it fails. @throws the `failure`, `aborted` */
export async function launchServer(options: LaunchOptions): Promise<LaunchedServer> {
  const { listening, key, healthPath, signal, failure, onStarted, untilReady, onLine, ...childOptions } =
    options
  let portFound: (port: number) => void = () => undefined
  const port = new Promise<number>((resolve) => {
    portFound = resolve
  })
  const child = new WorkerChild({
    ...childOptions,
    onLine: (line) => {
      const found = listening.exec(line)?.[1]
      if (found !== undefined) portFound(Number(found))
      onLine?.(line)
    },
  })
  const off = onAbort(signal, () => child.kill('its load was given up'))
  onStarted?.(child)
  let connection: ServerConnection | undefined
  try {
    const gone = child.exited.then((exit) => Promise.reject(failure(exit)))
    gone.catch(() => undefined)
    connection = new ServerConnection(await Promise.race([port, gone]), key, healthPath)
    if (untilReady !== undefined) await Promise.race([untilReady(child, connection), gone])
    return { child, connection }
  } catch (error) {
    await endFailed(child, connection)
    throw signal.aborted ? abortError(signal) : error
  } finally {
    off()
  }
}

/** Ends a server whose load has failed, and waits until it is gone. */
export async function endFailed(child: WorkerChild, connection: ServerConnection | undefined): Promise<void> {
  child.kill('its load has failed')
  await child.exited
  await connection?.close()
}
