import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { YardEvent } from '../../src/events/event-map.ts'
import { createYard } from '../../src/yard.ts'

const root = process.getuid?.() === 0
const FAKE = { models: { fake: { engine: 'scripted', script: [{ text: ['Hel', 'lo'] }] } } } as const
let disk: string

function mount(...options: string[]): void {
  execFileSync('mount', ['-t', 'tmpfs', ...options, 'tmpfs', disk])
}

beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'unwritable home-'))
})
afterEach(async () => {
  if (root) execFileSync('umount', [disk])
  await rm(disk, { recursive: true, force: true })
})

async function textOfWarnings(): Promise<string> {
  await using yard = await createYard({ home: disk, ...FAKE })
  const warnings: YardEvent[] = []
  yard.subscribe((event) => warnings.push(event))
  expect(await yard.chat({ model: 'fake', messages: [{ role: 'user', content: 'hi' }] }).text()).toBe('Hello')
  const texts = warnings.flatMap((event) => (event.name === 'warning-raised' ? [event.data.message] : []))
  return texts.join('\n')
}

// Mounting needs root, which CI has.
describe.skipIf(!root)('BR-25: a home that takes nothing', () => {
  it('because its disk is read-only does not keep the yard from serving, and the first listener is told', async () => {
    mount('-o', 'size=1m')
    execFileSync('mount', ['-o', 'remount,ro', disk])
    expect(await textOfWarnings()).toContain(`Nothing can be written to the home ${disk}`)
  })

  it('because its disk is full does not keep the yard from serving, and the first listener is told', async () => {
    mount('-o', 'size=64k,nr_inodes=2')
    await writeFile(join(disk, 'rest'), '')
    expect(await textOfWarnings()).toContain(`Nothing can be written to the home ${disk}`)
  })

  it('because it is a file is refused with what to do', async () => {
    mount('-o', 'size=1m')
    await writeFile(join(disk, 'home'), '')
    await expect(createYard({ home: join(disk, 'home'), ...FAKE })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('Choose another with MODELYARD_HOME') as string,
    })
  })
})
