import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededNumbers } from '../models/tiny-weights.ts'
import type { Api } from '../yard/harness.ts'

/** What is done to a server under its clients. */
export interface Disturbances {
  kills: number
  unloads: number
  changes: number
}

/** Disturbs again and again, at random, until it is told to stop. */
export async function disturb(
  api: Api,
  random: SeededNumbers,
  { changeSettings, ended }: { changeSettings: () => Promise<void>; ended: AbortSignal },
): Promise<Disturbances> {
  const done: Disturbances = { kills: 0, unloads: 0, changes: 0 }
  while (!ended.aborted) {
    await sleep(500 + random.next() * 2000)
    const kind = random.next()
    if (kind < 0.5) done.kills += await killOne(api, random)
    else if (kind < 0.8) done.unloads += unloadOne(api, random, await residents(api))
    else {
      await changeSettings()
      done.changes++
    }
  }
  return done
}

async function residents(api: Api): Promise<{ model: string; pid?: number }[]> {
  return (await api.state()).instances
}

function pick<Item>(items: readonly Item[], random: SeededNumbers): Item | undefined {
  return items[Math.floor(random.next() * items.length)]
}

/** As the system does when memory runs out: whatever it is at, loading included. */
async function killOne(api: Api, random: SeededNumbers): Promise<number> {
  const { pid } = pick(await residents(api), random) ?? {}
  if (pid === undefined) return 0
  try {
    process.kill(pid, 'SIGKILL')
    return 1
  } catch {
    return 0
  }
}

/** Not waited for: its runs end as they would. */
function unloadOne(api: Api, random: SeededNumbers, from: readonly { model: string }[]): number {
  const { model } = pick(from, random) ?? {}
  if (model === undefined) return 0
  void api.post('/api/yard/unload', JSON.stringify({ model })).then(
    async (response) => response.text(),
    () => undefined,
  )
  return 1
}
