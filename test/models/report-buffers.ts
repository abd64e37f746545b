import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { LoadShape } from '../../src/engines/llama-cpp/footprint.ts'
import { ENGINES_DIRECTORY } from './paths.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, '../programs/reports-buffers.mjs')

/** What llama.cpp says of its buffers, and what was touched of the one for computing; bytes. */
export interface BufferReport {
  mapped: number
  repacked: number
  kv: number
  output: number
  compute: number
  /** Null where its mapping cannot be told apart. */
  touched: number | null
}

/** Loads the model in a process of its own, fills one slot with so many tokens, and reads the log and the mappings. */
export async function reportBuffers(path: string, shape: LoadShape, fill: number): Promise<BufferReport> {
  const { contextSize, slots, batchSize, kvCacheType, flashAttention } = shape
  const question = {
    model: path,
    engines: ENGINES_DIRECTORY,
    contextSize,
    slots,
    batchSize,
    kvCacheType,
    flashAttention,
    fill,
  }
  const { stdout } = await run(process.execPath, [PROGRAM, JSON.stringify(question)], {
    env: { ...process.env, MALLOC_MMAP_THRESHOLD_: String(1024 ** 2) },
    maxBuffer: 1024 ** 2,
  })
  return JSON.parse(stdout) as BufferReport
}
