import { describe, expect, it } from 'vitest'
import { specOf } from '../../../test/node-llama-cpp/fixtures.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import { planUpstream } from './upstream-plan.ts'

const FACTS: ModelFacts = { format: 'none', fileSize: 0, contentId: 'none', purpose: 'generation' }

function plan(engineOptions: Record<string, unknown>): ReturnType<typeof planUpstream> {
  return planUpstream(specOf({ id: 'far', slots: 8, engineOptions }), FACTS)
}

describe('the plan of an upstream model', () => {
  it('costs nothing here unless it says so', () => {
    expect(plan({ url: 'http://a/v1' })).toMatchObject({
      slots: 8,
      threads: 0,
      contextSize: 131_072,
      footprint: { ram: { weights: 0, base: 0 } },
    })
    expect(plan({ url: 'http://a/v1', memory: '2GiB' }).footprint.ram?.weights).toBe(2 * 1024 ** 3)
  })

  it('can what its configuration says', () => {
    const { capabilities } = plan({ url: ['http://a/v1'], capabilities: { images: true, tools: false } })
    expect(capabilities).toMatchObject({ images: true, tools: false, structuredOutput: true })
  })

  it('takes no address with a password in it, which every message about it would show', () => {
    expect(() => plan({ url: 'http://me:secret@a/v1' })).toThrow('without a name or password')
    expect(() => plan({ url: 'http://me:secret@a/v1' })).not.toThrow('secret@')
    expect(plan({ url: 'http://a/v1/@team/' }).slots).toBe(8)
  })

  it('has a key that does not hold the API key', () => {
    expect(plan({ url: 'http://a/v1', key: 'one' }).key).toBe(plan({ url: 'http://a/v1', key: 'two' }).key)
    expect(plan({ url: 'http://a/v1' }).key).not.toBe(plan({ url: 'http://b/v1' }).key)
  })

  it.each([
    [{}, 'url'],
    [{ url: 'ftp://a' }, 'url'],
    [{ url: 'http://a/v1?x=1' }, 'url'],
    [{ url: 'http://a/v1', retries: -1 }, 'retries'],
    [{ url: 'http://a/v1', keyEnvironment: 'NOT A NAME' }, 'keyEnvironment'],
    [{ url: 'http://a/v1', capabilities: { flying: true } }, 'flying'],
  ])('refuses %j', (options, word) => {
    expect(() => plan(options)).toThrow(word)
  })
})
