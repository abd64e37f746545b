import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { SupervisedChild } from '../../src/host/child-process.ts'
import { claimHome, readOwner } from '../../src/host/home-lock.ts'
import { temporaryFolder } from './temporary-folder.ts'

const clock = new SystemClock()
const started: SupervisedChild[] = []

function newHome(): string {
  return join(temporaryFolder('home'), 'not yet there')
}

function ownerFile(home: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(home, 'owner.json'), 'utf8')) as Record<string, unknown>
}

function claimant(home: string, moment = 0): SupervisedChild {
  const script = join(import.meta.dirname, '../programs/claims-home.ts')
  const args = ['--import', 'jiti/register', script, home, String(moment)]
  const child = new SupervisedChild({ command: process.execPath, args, clock })
  started.push(child)
  return child
}

async function answer(child: SupervisedChild): Promise<string> {
  await expect.poll(() => child.logTail, { timeout: 30_000 }).toHaveLength(1)
  return child.logTail[0] ?? ''
}

afterEach(async () => {
  for (const child of started) child.kill()
  await Promise.all(started.splice(0).map((child) => child.exited))
})

describe('the owner of a home (M16, C0)', () => {
  it('is one; the second claim says who it is and where it can be reached', async () => {
    const home = newHome()
    const claim = await claimHome(home, { url: 'http://127.0.0.1:1' })
    await expect(claimHome(home)).rejects.toMatchObject({
      code: 'home_in_use',
      message: expect.stringContaining(`process ${process.pid}, http://127.0.0.1:1`) as string,
      details: { pid: process.pid, url: 'http://127.0.0.1:1' },
    })
    claim.release()
  })

  it('can be read by others, and tells its address when it has one', async () => {
    const home = newHome()
    expect(await readOwner(home)).toBeUndefined()
    const claim = await claimHome(home, { version: '1.2.3' })
    expect(await readOwner(home)).toEqual({ pid: process.pid, version: '1.2.3' })
    claim.update({ url: 'http://127.0.0.1:2' })
    expect(await readOwner(home)).toEqual({ pid: process.pid, version: '1.2.3', url: 'http://127.0.0.1:2' })
    claim.release()
    expect(await readOwner(home)).toBeUndefined()
  })

  it('leaves nothing behind, releases twice without harm and never what another has claimed since', async () => {
    const home = newHome()
    const first = await claimHome(home)
    first.release()
    await expect.poll(() => readdirSync(home)).toEqual([])
    const second = await claimHome(home, { url: 'http://second' })
    first.release()
    first.update({ url: 'http://first' })
    expect(await readOwner(home)).toMatchObject({ url: 'http://second' })
    second.release()
  })

  it('that died is succeeded by proof', async () => {
    const home = newHome()
    const dead = claimant(home)
    expect(await answer(dead)).toBe('claimed')
    await expect(claimHome(home)).rejects.toMatchObject({ code: 'home_in_use', details: { pid: dead.pid } })
    dead.kill()
    await dead.exited
    expect(await readOwner(home)).toBeUndefined()
    const claim = await claimHome(home)
    expect(await readOwner(home)).toEqual({ pid: process.pid })
    claim.release()
    await expect.poll(() => readdirSync(home)).toEqual([])
  })

  it.each([
    ['another process has its number now', { startTime: '1' }],
    ['the machine was started anew since', { boot: '00000000-0000-0000-0000-000000000000' }],
    ['it ran in a container that is gone', { pidNamespace: 'pid:[1]', socket: 'owner.dead.sock' }],
  ])('is dead when %s', async (_, changes) => {
    const home = newHome()
    const claim = await claimHome(home)
    const record = ownerFile(home)
    claim.release()
    writeFileSync(join(home, 'owner.json'), JSON.stringify({ ...record, ...changes }))
    expect(await readOwner(home)).toBeUndefined()
    const next = await claimHome(home)
    next.release()
  })

  it('in another container is alive as long as its socket listens', async () => {
    const home = newHome()
    const claim = await claimHome(home)
    writeFileSync(
      join(home, 'owner.json'),
      JSON.stringify({ ...ownerFile(home), pidNamespace: 'pid:[1]', pid: 2 }),
    )
    await expect(claimHome(home)).rejects.toMatchObject({ code: 'home_in_use', details: { pid: 2 } })
    claim.release()
  })

  it.each(['', '{', 'null', '{"pid":"x"}'])('with the junk record %j is nobody', async (junk) => {
    const home = newHome()
    const claim = await claimHome(home)
    claim.release()
    writeFileSync(join(home, 'owner.json'), junk)
    expect(await readOwner(home)).toBeUndefined()
    const next = await claimHome(home)
    expect(await readOwner(home)).toEqual({ pid: process.pid })
    next.release()
  })

  it.each(['fresh', 'left by a dead owner'])(
    'is exactly one of six that claim a home at once: %s',
    async (state) => {
      const home = newHome()
      const claim = await claimHome(home)
      const record = ownerFile(home)
      claim.release()
      if (state !== 'fresh')
        writeFileSync(join(home, 'owner.json'), JSON.stringify({ ...record, startTime: '1' }))
      const moment = Date.now() + 2500
      const answers = await Promise.all(Array.from({ length: 6 }, () => answer(claimant(home, moment))))
      expect(answers.sort()).toEqual(['claimed', ...Array.from({ length: 5 }, () => 'home_in_use')])
    },
  )
})
