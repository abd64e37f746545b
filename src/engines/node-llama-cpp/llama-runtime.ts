import { platform } from 'node:os'
import { devicesAmong } from '../../host/memory.ts'
import type { LoadPlan } from '../engine.ts'
import { importLlama } from './llama-package.ts'
import type { Llama, LlamaModule, LlamaOptions } from './llama-module.ts'

const LINES = 40
const LINE_LENGTH = 1000

/** The native library in this process, ready to load models, and what it logged. */
export interface LlamaRuntime {
  module: LlamaModule
  llama: Llama
  log: LogLines
  /** Of the package. */
  version: string
}

/** The last lines that llama.cpp logged; what it says of a failed load is nowhere else. */
export class LogLines {
  #lines: string[] = []
  #count = 0

  add(message: string): void {
    const fresh = message.split('\n').filter((line) => line.trim() !== '')
    this.#count += fresh.length
    this.#lines = [...this.#lines, ...fresh.map((line) => line.slice(0, LINE_LENGTH))].slice(-LINES)
  }

  /** A place between two lines, for {@link since}. */
  get mark(): number {
    return this.#count
  }

  /** The lines after a mark, newest last, at most 40. */
  since(mark: number): string[] {
    return mark >= this.#count ? [] : this.#lines.slice(-(this.#count - mark))
  }
}

type Gpu = LlamaOptions['gpu']

/** Apple's GPUs share the machine's memory: no domain of their own tells of them. */
const USUAL_GPU: Gpu = platform() === 'darwin' ? 'auto' : false

/** The device to start the library for. Without a GPU in the plan none is looked for, unless one is demanded: that is told by the load. */
export function gpuOf({ spec, footprint }: Pick<LoadPlan, 'spec' | 'footprint'>): Gpu {
  const { gpu } = spec.device
  if (gpu === false) return false
  if (gpu === 'cuda' || gpu === 'vulkan' || gpu === 'metal') return gpu
  return gpu === true || devicesAmong(footprint).length > 0 ? 'auto' : USUAL_GPU
}

/** The library has one logger in a process, whoever started it. */
const log = new LogLines()

/** The library can be started once in a process and never again after its end, so there is one for each kind of device, for good. */
const runtimes = new Map<Gpu, Promise<LlamaRuntime>>()

export async function llamaRuntime(
  enginesDirectory: string | undefined,
  gpu: Gpu = USUAL_GPU,
): Promise<LlamaRuntime> {
  const known = runtimes.get(gpu)
  if (known !== undefined) return known
  const started = start(gpu, enginesDirectory)
  runtimes.set(gpu, started)
  try {
    return await started
  } catch (error) {
    runtimes.delete(gpu)
    throw error
  }
}

async function start(gpu: Gpu, enginesDirectory: string | undefined): Promise<LlamaRuntime> {
  const { module, version } = await importLlama(enginesDirectory)
  const llama = await module.getLlama({
    gpu,
    build: 'never',
    progressLogs: false,
    maxThreads: 1,
    logger: (_level, message) => log.add(message),
  })
  return { module, llama, log, version }
}

const claimed = new WeakMap<Llama, number>()

/**
 * Lets the library use so many threads more: its limit is the sum over all models loaded in this process. Its default, four or more,
 * ruins small machines (R17). @returns gives them back
 */
export function claimThreads(llama: Llama, threads: number): () => void {
  const change = (by: number): void => {
    const sum = (claimed.get(llama) ?? 0) + by
    claimed.set(llama, sum)
    llama.maxThreads = Math.max(1, sum)
  }
  change(threads)
  let held = true
  return () => {
    if (held) change(-threads)
    held = false
  }
}
