import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { HubServer } from '../downloads/hub-server.ts'
import type { Yard } from '../../src/yard.ts'
import { ownYards, user } from './harness.ts'

const yards = ownYards()
const MIB = 1024 ** 2

let hub: HubServer
beforeEach(async () => {
  hub = await HubServer.start()
  hub.add('org/repo', 'big.gguf', Buffer.concat([Buffer.from('GGUF'), randomBytes(2 * MIB)]))
})
afterEach(async () => hub[Symbol.asyncDispose]())

async function openYard(): Promise<Yard> {
  return yards.open({
    models: { big: { source: 'hf:org/repo/big.gguf' } },
    memory: { budget: MIB, headroom: 0 },
    downloads: { endpoint: hub.endpoint },
  })
}

const ask = async (yard: Yard): Promise<string> => yard.chat({ model: 'big', messages: [user('hi')] }).text()

it('a model that can never fit is refused with both numbers before it is fetched, not after', async () => {
  const yard = await openYard()
  const refused = {
    code: 'model_too_large',
    message: expect.stringMatching(/has 2 MiB, the budget of ram is 1 MiB: .* modelyard pull big$/) as string,
  }
  await expect(ask(yard)).rejects.toMatchObject(refused)
  await expect(yard.plan('big')).rejects.toMatchObject(refused)
  expect(hub.fileRequests).toEqual([])
  expect(await readdir(join(yards.home.path, 'models')).catch(() => [])).toEqual([])
})

it('a model that can never fit is fetched with a warning when somebody pulls it', async () => {
  const yard = await openYard()
  const warnings: string[] = []
  yard.subscribe(({ name, data }) => name === 'warning-raised' && warnings.push(data.message))
  await yard.collection.pull('big', {
    signal: new AbortController().signal,
    onProgress: () => undefined,
  })
  expect(hub.fileRequests.length).toBeGreaterThan(0)
  expect(warnings).toEqual([expect.stringContaining('It is fetched all the same')])
})

it('a load that may go beyond the budget fetches the model, however large it is', async () => {
  const yard = await openYard()
  // These bytes are no model, which shows only when they are here.
  await expect(yard.loadModel('big', { force: true })).rejects.toMatchObject({ code: 'model_file_invalid' })
  expect(hub.fileRequests.length).toBeGreaterThan(0)
})
