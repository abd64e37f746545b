import { expect, it } from 'vitest'
import { LlamaServerEngine } from '../../src/engines/llama-server/llama-server-engine.ts'
import { RememberedSpeeds, speedKeyOf } from '../../src/engines/llama-server/prefill-speeds.ts'
import { ENGINES_DIRECTORY, TINY_CHAT } from '../models/paths.ts'
import { factsOf, HOST, NEVER, specOf } from '../node-llama-cpp/fixtures.ts'
import { HAS_SERVER, loadServer, processesWith } from './fixtures.ts'

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

it.skipIf(!HAS_SERVER)('a speed that was measured decides how much is evaluated at once', async () => {
  const speeds = new RememberedSpeeds()
  const engine = new LlamaServerEngine({ enginesDirectory: ENGINES_DIRECTORY, speeds })
  speeds.noteSpeed(speedKeyOf(engine.plan(specOf(), await factsOf(TINY_CHAT), HOST)), 100)
  const model = await loadServer(undefined, { id: 'slow-prompts' }, engine)
  expect(processesWith('--alias slow-prompts')).toHaveLength(1)
  expect(processesWith('-b 64 -ub 64')).toContain(model.pid)
  await model.unload()
})
