import type { Api } from '../yard/harness.ts'

interface Explained {
  reasons: string[]
  events: { name: string; text: string }[]
}

/** What the server says of the requests to a model that have not ended for so long, and of all that is in memory and waits. */
export async function explainStuck(api: Api, model: string, olderThan: number): Promise<string> {
  const { instances, queue, memory, models, activity } = await api.state()
  const stuck = activity.filter((one) => one.model === model && Date.now() - one.startedAt >= olderThan)
  const explained = await Promise.all(stuck.map(async ({ run }) => explain(api, run)))
  const state = models.find(({ id }) => id === model)?.state
  return [
    `${model} is ${state}; ${memory.ram?.booked} of ${memory.ram?.budget} bytes are booked`,
    ...instances.map(
      ({ id, state: stage, leases, idleFor }) => `${id} ${stage}, ${leases} leases, idle for ${idleFor} ms`,
    ),
    ...queue.map(
      (ticket) =>
        `${ticket.id} has waited ${Math.round(ticket.waitingFor)} ms for ${ticket.model}: ${ticket.reason}`,
    ),
    ...explained,
  ].join('\n  ')
}

/**
 * Milliseconds within which everybody is served by the rules (R9): patience, a run and a load for its own model and for each that may wait
 * ahead, by the longest that were measured here. A busy machine takes long for them; nobody waits longer than that for it.
 */
export async function promisedWait(api: Api, patience: number): Promise<number> {
  const { models } = await api.state()
  const response = await fetch(`${api.url}/api/yard/runs?limit=1000`)
  const { runs } = (await response.json()) as { runs: { totalMs: number; queueMs: number }[] }
  const load = Math.max(0, ...models.map(({ record }) => record?.loadMs ?? 0))
  const run = Math.max(0, ...runs.map(({ totalMs, queueMs }) => totalMs - queueMs))
  return (patience + run + load) * (models.length + 1)
}

async function explain(api: Api, run: string): Promise<string> {
  const response = await fetch(`${api.url}/api/yard/why/${run}`)
  const { reasons = [], events = [] } = (await response.json()) as Partial<Explained>
  return [run, ...reasons, ...events.map(({ name, text }) => `${name}: ${text}`)].join('\n    ')
}
