import { describe, expect, it } from 'vitest'
import { dialectRequest } from '../../../test/http/transcript.ts'
import type { ModelCollection, ModelDescription, YardPort } from '../yard-port.ts'
import { listResidents } from './list-models.ts'

const NOW = Date.UTC(2026, 10, 30)
const DESCRIPTION = { id: 'tiny', modifiedAt: 0, bytes: 5, digest: 'a'.repeat(64), facts: null }

/** `expires_at` of a model that leaves memory then. */
async function expiry(expiresAt: number | null): Promise<string> {
  const resident = { model: 'tiny', bytes: 1, deviceBytes: 0, contextLength: 8, expiresAt }
  const collection: Partial<ModelCollection> = {
    residents: () => [resident],
    describe: () => Promise.resolve(DESCRIPTION as ModelDescription),
  }
  const port: Partial<YardPort> = { collection: collection as ModelCollection }
  const action = listResidents(dialectRequest({ now: () => NOW }))
  const { body } = await action.answer(port as YardPort, new AbortController().signal)
  return (JSON.parse(body) as { models: { expires_at: string }[] }).models[0]?.expires_at ?? ''
}

describe('GET /api/ps', () => {
  it('tells when a model goes', async () => {
    expect(await expiry(NOW + 1000)).toBe('2026-11-30T00:00:01.000Z')
  })

  it('BR-36: a model that stays, and one kept longer than any date can say, go centuries from now', async () => {
    const never = await expiry(null)
    expect(never).toMatch(/^2319-/)
    expect(await expiry(1e308)).toBe(never)
  })
})
