import { expect, it } from 'vitest'
import type { HostReading } from '../../src/host/memory.ts'
import { ownYards, TALKER, until, user } from './harness.ts'

const yards = ownYards()
const GIB = 1024 ** 3

it('R20: another program takes memory: idle models give theirs back before the machine swaps, busy ones stay', async () => {
  let available = 12 * GIB
  const read = (): HostReading => ({ ram: { total: 16 * GIB, available, source: 'a test' } })
  const yard = await yards.open({
    models: {
      busy: { ...TALKER, memory: '1GiB' },
      idle: { ...TALKER, memory: '2GiB' },
      other: { ...TALKER, memory: '2GiB' },
    },
    memory: { headroom: '1GiB' },
    memoryProbe: { read },
  })
  const reasons: string[] = []
  yard.subscribe((event) => {
    if (event.name === 'unload-started') reasons.push(`${event.data.model}: ${event.data.reason}`)
  })
  const run = yard.chat({ model: 'busy', messages: [user('for ever')] })[Symbol.asyncIterator]()
  await run.next()
  await yard.loadModel('idle')
  await yard.loadModel('other')
  expect(yard.state().instances).toHaveLength(3)
  available = 0.25 * GIB
  await until(() => reasons.length > 0, 60_000)
  available = 2.25 * GIB
  await until(() => yard.state().instances.length === 2, 60_000)
  expect(reasons).toEqual([
    expect.stringMatching(
      /^(idle|other): this machine has 256 MiB of memory left and should have 1 GiB; frees 2 GiB/,
    ),
  ])
  const next = await run.next()
  expect([next.done, yard.state().instances.some(({ model }) => model === 'busy')]).toEqual([false, true])
  await run.return?.()
})
