import { randomBytes } from 'node:crypto'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { formatBytes } from '../../base/bytes.ts'
import { coreCount } from '../../host/host-facts.ts'
import { HostMemoryProbe } from '../../host/memory-probe.ts'
import type { DomainReading, MemoryProbe } from '../../host/memory.ts'
import type { YardDirectories } from '../../config/directories.ts'
import type { Check } from './check.ts'

/** Below these, small models only, and hardly any. */
const LITTLE_MEMORY = 2 * 1024 ** 3
const LITTLE_DISK = 2 * 1024 ** 3

/** Milliseconds for whoever has the port to say who it is. */
const PATIENCE = 2000

export function examineMemory(
  probe: MemoryProbe = new HostMemoryProbe(),
  cores: number = coreCount(),
): Check {
  const name = 'memory'
  const { ram } = probe.read()
  if (ram === undefined) {
    const remedy =
      'Unknown memory counts as none: nothing can be loaded. Give the process the right to read /proc.'
    return { name, status: 'problem', found: 'it cannot be read', remedy }
  }
  const found = describeMemory(ram, cores)
  if (ram.available >= LITTLE_MEMORY) return { name, status: 'ok', found }
  const remedy = 'Close other programs, or raise the limit of the container: only small models will fit.'
  return { name, status: 'warning', found, remedy }
}

function describeMemory({ total, available, source }: DomainReading, cores: number): string {
  return `${formatBytes(available)} of ${formatBytes(total)} available (${source}), ${cores} core${cores === 1 ? '' : 's'}`
}

/** Whether the home can be written, and what is free on its disk. */
export async function examineHome(
  { home }: Pick<YardDirectories, 'home'>,
  freeBytes: (path: string) => Promise<number> = freeBytesOf,
): Promise<Check> {
  const name = 'home'
  try {
    const trial = join(home, `.doctor-${randomBytes(6).toString('hex')}`)
    await mkdir(home, { recursive: true })
    await writeFile(trial, '')
    await rm(trial)
    return await examineDisk(name, home, freeBytes)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const remedy =
      code === 'ENOSPC'
        ? 'Free some space, or set MODELYARD_HOME to another disk.'
        : 'Make it writable, or set MODELYARD_HOME to a folder that is.'
    const found = code === 'ENOSPC' ? `the disk of ${home} is full` : `${home} cannot be written (${code})`
    return { name, status: 'problem', found, remedy }
  }
}

async function examineDisk(
  name: string,
  home: string,
  freeBytes: (path: string) => Promise<number>,
): Promise<Check> {
  const free = await freeBytes(home)
  const found = `${home}, ${formatBytes(free)} free on its disk`
  if (free >= LITTLE_DISK) return { name, status: 'ok', found }
  const remedy = 'Free some space, or set MODELYARD_HOME to a larger disk: models are large.'
  return { name, status: 'warning', found, remedy }
}

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path)
  return bavail * bsize
}

/** Whether the port can be listened on. `ownUrl`: where our own server of this home listens, if it does. */
export async function examinePort(port: number, ownUrl: string | undefined): Promise<Check> {
  const name = 'port'
  if (ownUrl !== undefined && new URL(ownUrl).port === String(port)) {
    return { name, status: 'ok', found: `${port} is in use by our own server` }
  }
  const code = await tryToListen(port)
  if (code === undefined) return { name, status: 'ok', found: `${port} is free` }
  return { name, status: 'warning', ...(await occupant(port, code)) }
}

async function occupant(port: number, code: string): Promise<{ found: string; remedy: string }> {
  const elsewhere = 'serve on another port: modelyard serve --port N'
  if (code === 'EACCES') {
    return {
      found: `${port} may not be listened on by this user`,
      remedy: `Choose one above 1023: ${elsewhere}`,
    }
  }
  if (code !== 'EADDRINUSE')
    return {
      found: `${port} cannot be listened on (${code})`,
      remedy: 'Serve on another port: modelyard serve --port N',
    }
  return (await isModelyard(port))
    ? { found: `${port} is in use by a Modelyard of another home`, remedy: `Use that one, or ${elsewhere}` }
    : { found: `${port} is in use by another program`, remedy: `Stop that program, or ${elsewhere}` }
}

/** Whether what listens there answers as our health does. */
async function isModelyard(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(PATIENCE) })
    const { status, ready } = (await answer.json()) as { status?: unknown; ready?: unknown }
    return status === 'ok' && typeof ready === 'boolean'
  } catch {
    return false
  }
}

function tryToListen(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(undefined)))
  })
}
