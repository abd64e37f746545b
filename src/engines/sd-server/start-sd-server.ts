import { sleep, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { freePorts } from '../../host/free-ports.ts'
import { devicesAmong } from '../../host/memory.ts'
import { visibleDevices } from '../../host/visible-devices.ts'
import { loadFailed, type LoadOptions, type LoadPlan } from '../engine.ts'
import { launchServer, type LaunchedServer } from '../supervision/launch-server.ts'
import { RefusedByServer, type ServerConnection } from '../supervision/server-connection.ts'
import type { WorkerChild } from '../supervision/worker-child.ts'
import { companionPaths } from './inspect-image-model.ts'
import { newsOf, type LogNews } from './log-line.ts'
import { sdServerOptions } from './sd-server-options.ts'
import { sdStartFailure } from './start-failure.ts'

/** It says so before it does, and where it could not it says so, too: only an answer is proof. */
const LISTENING = /listening on: 127\.0\.0\.1:(\d+)/
/** Takes no lock: answered while a picture is made. */
const HEALTH_PATH = '/v1/models'
/** Milliseconds between two questions whether it answers. */
const INTERVAL = 20
/** Others may take the port between its choice and its use. */
const TRIES = 3

/** What the server says of itself. Source: `make_capabilities_json` in examples/server/routes_sdcpp.cpp; fields that older builds lack are optional. */
interface Capabilities {
  model?: { path?: string }
  supported_modes?: string[]
  samplers?: string[]
  schedulers?: string[]
}

export interface StartSdServerOptions extends LoadOptions {
  command: string
  clock: Clock
  recordsDirectory: string | undefined
  logDirectory: string | undefined
  /** Told of movements: steps of a picture, tensors of the model. */
  onNews: (news: LogNews) => void
}

/** Starts the program and waits until it answers with this model. Nothing stays when it fails. @throws ModelyardError `model_load_failed`, `aborted` */
export async function startSdServer(plan: LoadPlan, options: StartSdServerOptions): Promise<LaunchedServer> {
  for (let tries = TRIES; ; tries--) {
    try {
      return await start(plan, options)
    } catch (error) {
      const lostPort = error instanceof ModelyardError && error.details['failure'] === 'port'
      if (!lostPort || tries <= 1 || options.signal.aborted) throw error
    }
  }
}

async function start(plan: LoadPlan, options: StartSdServerOptions): Promise<LaunchedServer> {
  const { command, clock, recordsDirectory, logDirectory, signal, onNews } = options
  const [port = 0] = await freePorts(1)
  return await launchServer({
    command,
    args: launchArguments(plan, port),
    clock,
    label: plan.model,
    recordsDirectory,
    logDirectory,
    environment: environmentOf(plan),
    listening: LISTENING,
    healthPath: HEALTH_PATH,
    // It knows none: whoever can reach this machine's loopback can use it.
    key: '',
    signal,
    onLine: (line) => {
      const news = newsOf(line)
      if (news !== undefined) onNews(news)
    },
    failure: (exit) => sdStartFailure(plan, exit),
    untilReady: async (child, connection) =>
      requireSuitable(plan, await untilAnswered(plan, child, connection, options)),
  })
}

/** Source: `SDSvrParams`, `SDContextParams` in examples/server/runtime.cpp and examples/common/common.cpp. */
export function launchArguments(plan: LoadPlan, port: number): string[] {
  const { spec, threads, facts } = plan
  const options = sdServerOptions(spec)
  const path = facts.path ?? ''
  return [
    ['--listen-ip', '127.0.0.1', '--listen-port', String(port)],
    [options.diffusionOnly === true ? '--diffusion-model' : '-m', path],
    companionPaths(options).flatMap(([option, file]) => [FLAGS[option], file]),
    ['-t', String(threads)],
    options.flashAttention === true ? ['--diffusion-fa'] : [],
    // Adapters are looked for at each request, in the working directory and all below it where none is named; a file has none.
    ['--lora-model-dir', path],
  ].flat()
}

const FLAGS: Record<ReturnType<typeof companionPaths>[number][0], string> = {
  vae: '--vae',
  taesd: '--taesd',
  clipL: '--clip_l',
  clipG: '--clip_g',
  t5xxl: '--t5xxl',
  llm: '--llm',
}

/** A build for a GPU takes all it sees: it sees the device that its memory was declared for, or none. */
function environmentOf({ footprint }: LoadPlan): Record<string, string> {
  if (devicesAmong(footprint).length > 0) return visibleDevices(footprint)
  return { CUDA_VISIBLE_DEVICES: '-1', HIP_VISIBLE_DEVICES: '-1' }
}

async function untilAnswered(
  plan: LoadPlan,
  child: WorkerChild,
  connection: ServerConnection,
  { clock, signal }: StartSdServerOptions,
): Promise<Capabilities> {
  while (!signal.aborted && child.alive) {
    try {
      return (await connection.json('/sdcpp/v1/capabilities', undefined, signal)) as Capabilities
    } catch (error) {
      if (error instanceof RefusedByServer) throw tooOld(plan, error)
    }
    await sleep(clock, INTERVAL, signal)
  }
  // The end of the child, or the abort, says why.
  return await new Promise<never>(() => undefined)
}

function tooOld({ model }: LoadPlan, { refusal }: RefusedByServer): ModelyardError {
  return loadFailed(
    'missing_engine',
    `Model "${model}" could not be loaded: its sd-server does not know /sdcpp/v1 (it says ${refusal.status}). Use a build of stable-diffusion.cpp from May 2026 or newer.`,
  )
}

/** @throws ModelyardError `model_load_failed` when it is another server, or cannot do what the options ask for */
function requireSuitable({ model, spec, facts }: LoadPlan, told: Capabilities): void {
  const { sampler, scheduler } = sdServerOptions(spec)
  if (told.model?.path !== undefined && told.model.path !== facts.path)
    throw loadFailed('port', `Another program took the port of the sd-server of "${model}".`)
  if (told.supported_modes?.includes('img_gen') === false)
    throw loadFailed('bad_file', `Model "${model}" makes no pictures (${told.supported_modes.join(', ')}).`)
  requireKnown(model, 'sampler', sampler, told.samplers)
  requireKnown(model, 'scheduler', scheduler, told.schedulers)
}

function requireKnown(
  model: string,
  option: string,
  value: string | undefined,
  known: readonly string[] | undefined,
): void {
  if (value === undefined || known === undefined || known.includes(value)) return
  throw loadFailed('bad_option', `Model "${model}": ${option} must be one of ${known.join(', ')}.`)
}
