import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { SystemClock } from '../../src/base/clock.ts'
import type { LoadedModel, LoadOptions, LoadPlan } from '../../src/engines/engine.ts'
import { SdServerEngine } from '../../src/engines/sd-server/sd-server-engine.ts'
import type { WorkerDeadlines } from '../../src/engines/supervision/worker-deadlines.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import type { ImageTask } from '../../src/tasks/image-task.ts'
import type { Part } from '../../src/tasks/part.ts'
import { processesWith } from '../llama-server/fixtures.ts'
import { HOST, NEVER, specOf } from '../node-llama-cpp/fixtures.ts'

export const FAKE_SD_SERVER: string = join(import.meta.dirname, '../programs/fake-sd-server.mjs')

export type ImagePart = Part & { type: 'image' }

/** A safetensors file that is no model: the fake program does what its word says. @returns its path */
export async function writePainter(folder: string, mode = 'plain'): Promise<string> {
  const path = join(folder, `${mode}.safetensors`)
  const header = Buffer.from(JSON.stringify({ mode }))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  await writeFile(path, Buffer.concat([length, header, Buffer.alloc(1000)]))
  return path
}

export function painterEngine(deadlines: Partial<WorkerDeadlines> = {}): SdServerEngine {
  return new SdServerEngine({ clock: new SystemClock(), deadlines })
}

export interface PainterOptions extends Partial<LoadOptions> {
  deadlines?: Partial<WorkerDeadlines>
  /** Of the model's entry. */
  options?: Record<string, unknown>
  spec?: Partial<ModelSpec>
}

export async function painterPlan(
  path: string,
  { options, spec, deadlines }: PainterOptions = {},
): Promise<LoadPlan> {
  const engine = painterEngine(deadlines)
  const own = specOf({ engine: 'sd-server', engineOptions: { binary: FAKE_SD_SERVER, ...options }, ...spec })
  return engine.plan(own, await engine.inspectFiles(own, path), HOST)
}

/** A model of the fake program in `mode`, warmed up as the pool does it. */
export async function loadPainter(
  folder: string,
  mode = 'plain',
  options: PainterOptions = {},
): Promise<LoadedModel> {
  const { deadlines, signal = NEVER, onProgress = () => undefined } = options
  const plan = await painterPlan(await writePainter(folder, mode), options)
  const model = await painterEngine(deadlines).load(plan, { signal, onProgress })
  await model.warmUp(signal)
  return model
}

export function picture(changes: Partial<ImageTask> = {}): ImageTask {
  return { kind: 'image', prompt: 'a cat', width: 64, height: 64, count: 1, steps: 3, ...changes }
}

/** What the fake says of itself. */
export interface Told {
  args: string[]
  environment: Record<string, string>
  bodies: Record<string, unknown>[]
}

/** Asks the fake itself, on the port that its command line names. */
export async function told({ pid = 0 }: LoadedModel): Promise<Told> {
  const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
  const port = command[command.indexOf('--listen-port') + 1]
  return (await (await fetch(`http://127.0.0.1:${port}/bodies`)).json()) as Told
}

/** A folder with the fake as `sd-server`, put before all others on PATH. @returns a function that takes it off again */
export async function putOnPath(folder: string): Promise<() => void> {
  const before = process.env['PATH']
  await mkdir(folder, { recursive: true })
  await symlink(FAKE_SD_SERVER, join(folder, 'sd-server'))
  process.env['PATH'] = `${folder}${delimiter}${before ?? ''}`
  return () => {
    process.env['PATH'] = before
  }
}

/** @throws when a process still has a file of the folder on its command line */
export function requireNoneLeft(folder: string): void {
  const left = processesWith(folder)
  if (left.length > 0) throw new Error(`still running: ${left.join(', ')}`)
}
