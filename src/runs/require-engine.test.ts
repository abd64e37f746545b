import { describe, expect, it } from 'vitest'
import { specOf } from '../models/__fixtures__/model-spec.ts'
import type { Availability, Engine } from '../engines/engine.ts'
import { requireEngine } from './require-engine.ts'

const HERE: Availability = { available: true, version: '1' }
const MISSING: Availability = { available: false, reason: 'It is not installed.', remedy: 'Install it.' }

function engines(found: Record<string, Availability | Error>): ReadonlyMap<string, Engine> {
  const entries = Object.entries(found).map(([name, answer]): [string, Engine] => {
    const detect = async (): Promise<Availability> => {
      if (answer instanceof Error) throw answer
      return answer
    }
    return [name, { name, detect } as unknown as Engine]
  })
  return new Map(entries)
}

describe('requireEngine', () => {
  it('refuses by the engine of the format, with what to do', async () => {
    const known = engines({ mlx: MISSING, 'node-llama-cpp': HERE })
    await requireEngine(known, specOf('m'), 'gguf')
    await expect(requireEngine(known, specOf('m'), 'safetensors')).rejects.toMatchObject({
      code: 'engine_missing',
      message: 'Model "m" is not fetched: its engine mlx is not here. It is not installed. Install it.',
      details: { engine: 'mlx' },
    })
  })

  it('goes by the engine that the model names, whatever its files are', async () => {
    const known = engines({ 'llama-server': MISSING, 'node-llama-cpp': HERE })
    const spec = specOf('m', { engine: 'llama-server' })
    await expect(requireEngine(known, spec, 'gguf')).rejects.toMatchObject({
      details: { engine: 'llama-server' },
    })
    await expect(requireEngine(known, spec, undefined)).rejects.toMatchObject({ code: 'engine_missing' })
  })

  it('leaves to the load what cannot be told', async () => {
    const known = engines({ mine: new Error('does not say') })
    const all = [
      requireEngine(known, specOf('m'), undefined),
      requireEngine(known, specOf('m'), 'onnx'),
      requireEngine(known, specOf('m', { engine: 'mine' }), 'gguf'),
    ]
    await expect(Promise.all(all)).resolves.toHaveLength(3)
  })
})
