import { visibleDevices } from '../../host/visible-devices.ts'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, type Clock } from '../../base/clock.ts'
import { createId } from '../../base/ids.ts'
import { measureProcessTree } from '../../host/process-memory.ts'
import type { LoadOptions, LoadPlan } from '../engine.ts'
import { launchServer } from '../supervision/launch-server.ts'
import type { WorkerChild } from '../supervision/worker-child.ts'
import { launchArguments } from './launch-arguments.ts'
import type { ReleaseFlags } from './release-flags.ts'
import type { ServerConnection } from '../supervision/server-connection.ts'
import { startFailure } from './start-failure.ts'

/** Milliseconds between two questions whether the model is loaded. */
const INTERVAL = 10
/** Milliseconds between two looks at how much has been read. */
const LOOK_INTERVAL = 300

/**
 * Newer releases read the file once more to see what fits where, and then change nothing, for all that they could choose is said (`FIT`); and
 * one that a user's own `config.ini` makes silent would never say where it listens (3: what is worth knowing). Others know no such variables.
 */
const OWN_ENVIRONMENT = { LLAMA_ARG_FIT: 'off', LLAMA_ARG_LOG_VERBOSITY: '3' }

const LISTENING = /(?:listening on|READY) https?:\/\/[^\s:]+:(\d+)/

export interface StartOptions extends LoadOptions {
  command: string
  cores: number
  batchSize: number
  flags: ReleaseFlags
  clock: Clock
  recordsDirectory: string | undefined
  logDirectory: string | undefined
  slotsDirectory: string | undefined
}

export interface StartedServer {
  child: WorkerChild
  connection: ServerConnection
  /** Folder for saved slots; removed with the server. */
  slotFolder: string
}

/** Starts the server and waits until its model is loaded. Nothing stays when it fails. @throws ModelyardError `model_load_failed`, `aborted` */
export async function startServer(plan: LoadPlan, options: StartOptions): Promise<StartedServer> {
  const slotFolder = await makeSlotFolder(options.slotsDirectory)
  const key = createId('')
  const { cores, batchSize, flags, clock, command, recordsDirectory, logDirectory, signal } = options
  const over = new AbortController()
  try {
    const started = await launchServer({
      command,
      args: launchArguments(plan, { cores, batchSize, slotFolder, flags }),
      clock,
      label: plan.model,
      recordsDirectory,
      logDirectory,
      environment: { ...OWN_ENVIRONMENT, LLAMA_API_KEY: key, ...visibleDevices(plan.footprint) },
      key,
      listening: LISTENING,
      signal,
      failure: (exit) => startFailure(plan, exit),
      onStarted: (child) => void tellProgress(plan, child, options, over.signal),
      untilReady: async (child, connection) => await untilLoaded(child, connection, options),
    })
    return { ...started, slotFolder }
  } catch (error) {
    await rm(slotFolder, { recursive: true, force: true })
    throw error
  } finally {
    over.abort()
  }
}

/** In the home, where the next start removes what a kill has left; one that takes nothing is no reason not to load (BR-25). */
async function makeSlotFolder(directory: string | undefined): Promise<string> {
  const elsewhere = join(tmpdir(), 'modelyard-slots-')
  if (directory === undefined) return await mkdtemp(elsewhere)
  try {
    await mkdir(directory, { recursive: true })
    return await mkdtemp(join(directory, 'worker-'))
  } catch {
    return await mkdtemp(elsewhere)
  }
}

/** How far it is shows in what of the file lies in memory. It says where it listens only when the model is loaded. */
async function tellProgress(
  { loadBytes }: LoadPlan,
  child: WorkerChild,
  { clock, onProgress }: StartOptions,
  over: AbortSignal,
): Promise<void> {
  let fraction = 0
  while (!over.aborted && child.alive) {
    onProgress({ stage: 'loading', fraction })
    await sleep(clock, LOOK_INTERVAL, over).catch(() => undefined)
    const memory = await measureProcessTree(child.pid ?? 0)
    const held = (memory?.private ?? 0) + (memory?.shared ?? 0)
    fraction = Math.max(fraction, Math.min(0.99, held / Math.max(1, loadBytes)))
  }
}

/** Some releases listen before the model is loaded. */
async function untilLoaded(
  child: WorkerChild,
  connection: ServerConnection,
  { clock, signal }: StartOptions,
): Promise<void> {
  while (!signal.aborted && child.alive) {
    if (await isHealthy(connection, signal)) return
    await sleep(clock, INTERVAL, signal)
  }
}

async function isHealthy(connection: ServerConnection, signal: AbortSignal): Promise<boolean> {
  try {
    await connection.json('/health', undefined, signal)
    return true
  } catch {
    return false
  }
}
