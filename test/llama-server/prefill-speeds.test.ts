import { expect, it } from 'vitest'
import { LlamaServerEngine } from '../../src/engines/llama-server/llama-server-engine.ts'
import { RememberedSpeeds } from '../../src/engines/llama-server/prefill-speeds.ts'
import { ENGINES_DIRECTORY } from '../models/paths.ts'
import { NEVER } from '../node-llama-cpp/fixtures.ts'
import { HAS_SERVER, loadServer } from './fixtures.ts'

/** Loads and warms up with an engine of its own, as after a restart. */
async function start(speeds: RememberedSpeeds, threads: number): Promise<void> {
  const engine = new LlamaServerEngine({ enginesDirectory: ENGINES_DIRECTORY, speeds })
  const model = await loadServer(undefined, { device: { gpu: false, threads, memoryLock: false } }, engine)
  await model.warmUp(NEVER)
  await model.unload()
}

it.skipIf(!HAS_SERVER)(
  'the first load after a restart does not measure again how fast prompts are',
  async () => {
    const noted: string[] = []
    const speeds = new (class extends RememberedSpeeds {
      override noteSpeed(key: string, speed: number): void {
        noted.push(key)
        super.noteSpeed(key, speed)
      }
    })()
    await start(speeds, 1)
    expect(noted).toHaveLength(1)
    await start(speeds, 1)
    expect(noted).toHaveLength(1)
    // On more threads it is another speed.
    await start(speeds, 2)
    expect(new Set(noted).size).toBe(2)
  },
)
