import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SystemClock } from '../../src/base/clock.ts'
import { LlamaServerEngine } from '../../src/engines/llama-server/llama-server-engine.ts'
import type { LoadedModel, LoadProgress } from '../../src/engines/engine.ts'
import type { WorkerDeadlines } from '../../src/engines/supervision/worker-deadlines.ts'
import type { ModelSpec } from '../../src/models/model-spec.ts'
import { ENGINES_DIRECTORY, TINY_CHAT } from '../models/paths.ts'
import { factsOf, HOST, NEVER, specOf } from '../node-llama-cpp/fixtures.ts'

export const FAKE: string = join(import.meta.dirname, '../programs/fake-llama-server.mjs')

export function serverEngine(deadlines: Partial<WorkerDeadlines> = {}): LlamaServerEngine {
  return new LlamaServerEngine({ enginesDirectory: ENGINES_DIRECTORY, clock: new SystemClock(), deadlines })
}

/** Whether the real program can be started here: `npm test` installs it where there is a pip. */
export const HAS_SERVER: boolean = (await serverEngine().detect()).available

export async function loadServer(
  path: string = TINY_CHAT,
  changes: Partial<ModelSpec> = {},
  engine: LlamaServerEngine = serverEngine(),
): Promise<LoadedModel> {
  const plan = engine.plan(specOf(changes), await factsOf(path), HOST)
  return await engine.load(plan, { signal: NEVER, onProgress: () => undefined })
}

/** A model of the fake program, which does what the mode says. */
export async function loadFake(
  mode: string,
  {
    deadlines = {},
    signal = NEVER,
    onProgress = () => undefined,
    ...options
  }: {
    deadlines?: Partial<WorkerDeadlines>
    signal?: AbortSignal
    onProgress?: (progress: LoadProgress) => void
    mmproj?: string
    binary?: string
    draft?: { path: string; tokens?: number }
  } = {},
): Promise<LoadedModel> {
  const engine = serverEngine(deadlines)
  const spec = specOf({ id: `test:${mode}`, engineOptions: { binary: FAKE, ...options } })
  return await engine.load(engine.plan(spec, await factsOf(TINY_CHAT), HOST), { signal, onProgress })
}

/** Processes whose command line has this text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => commandOf(pid).includes(text))
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
