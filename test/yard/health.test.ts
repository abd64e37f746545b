import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { canMount, fillDisk } from '../store/own-disk.ts'
import { readExposition } from '../http/read-exposition.ts'
import { isRunning, ownYards, TALKER, until, user } from './harness.ts'

const yards = ownYards()
const WORKER = { ...TALKER, isolation: 'worker' as const, memory: '20MiB' }

async function get(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(url)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('H4: health that tells the truth', () => {
  it('a silent worker: alive, not ready, named; and ready again when it is replaced', async () => {
    const yard = await yards.open({ models: { talker: WORKER } })
    const { url } = await yard.listen({ port: 0 })
    await yard.loadModel('talker')
    expect(await get(`${url}/readyz`)).toMatchObject({
      status: 200,
      body: { ready: true, workers: 'ok', store: 'ok' },
    })
    const { pid = 0, id } = yard.state().instances[0] ?? { id: '' }
    process.kill(pid, 'SIGSTOP')
    expect((await get(`${url}/healthz`)).status).toBe(200)
    expect(await get(`${url}/readyz`)).toMatchObject({
      status: 503,
      body: { ready: false, workers: 'silent', reason: expect.stringContaining(id) as string },
    })
    // Being asked was work, and who does not answer to work is ended: the next one gets a new worker.
    await until(async () => (await get(`${url}/readyz`)).status === 200)
    expect(await yard.chat({ model: 'talker', messages: [user('hi')] }).text()).toBe('Hello')
    expect(isRunning(pid)).toBe(false)
  })
})

describe.runIf(canMount())('BR-25: a database on a disk that is full', () => {
  it('the server serves on, says so everywhere, and is ready again by itself when there is room', async () => {
    const disk = yards.home.path
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk])
    try {
      const yard = await yards.open({ models: { talker: { ...TALKER, memory: '20MiB' } } })
      const { url } = await yard.listen({ port: 0 })
      const answer = (): Promise<string> => yard.chat({ model: 'talker', messages: [user('hi')] }).text()
      const ready = async (): Promise<number> => (await get(`${url}/readyz`)).status
      expect([await answer(), await ready()]).toEqual(['Hello', 200])
      const empty = fillDisk(disk)
      await until(async () => (await answer()) === 'Hello' && (await ready()) === 503)
      const reason = expect.stringContaining('The database takes nothing') as string
      expect(await get(`${url}/readyz`)).toMatchObject({ body: { store: 'not writable', reason } })
      expect((await get(`${url}/healthz`)).status).toBe(200)
      expect((await get(`${url}/api/yard/state`)).body).toMatchObject({ store: 'not writable' })
      expect(await (await fetch(`${url}/metrics`)).text()).toContain('\nmodelyard_ready 0\n')
      expect(await answer()).toBe('Hello')
      empty()
      await until(async () => (await ready()) === 200)
      expect((await get(`${url}/api/yard/state`)).body).toMatchObject({ store: 'ok' })
      await yard.stop({ deadline: 0 })
    } finally {
      execFileSync('umount', ['-l', disk])
    }
  })
})

describe('M18: /metrics', () => {
  it('is what a strict reader of the format takes, and says what happened', async () => {
    const yard = await yards.open({
      models: {
        'org/talker:q4': WORKER,
        broken: { ...TALKER, failLoad: { class: 'bad_file', message: 'A cake.' } },
      },
    })
    const { url } = await yard.listen({ port: 0 })
    const chat = (model: string): Promise<string> => yard.chat({ model, messages: [user('hi')] }).text()
    await chat('org/talker:q4')
    await chat('org/talker:q4')
    await expect(chat('broken')).rejects.toThrow('A cake')
    await expect(chat('my-secret-text')).rejects.toThrow('no model')
    const response = await fetch(`${url}/metrics`)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await response.text()
    const families = readExposition(text)
    const value = (name: string, labels: Record<string, string> = {}): number | undefined =>
      families
        .get(name)
        ?.samples.find((sample) =>
          Object.entries(labels).every(([key, wanted]) => sample.labels[key] === wanted),
        )?.value
    const model = 'org/talker:q4'
    expect(value('modelyard_runs_total', { model, outcome: 'stop' })).toBe(2)
    expect(value('modelyard_runs_total', { model: '', outcome: 'model_not_found' })).toBe(1)
    expect(value('modelyard_tokens_total', { model, kind: 'completion' })).toBe(4)
    expect(value('modelyard_model_loads_total', { model })).toBe(1)
    expect(value('modelyard_load_failures_total', { model: 'broken', failure: 'bad_file' })).toBe(1)
    expect(value('modelyard_memory_booked_bytes', { domain: 'ram', state: 'resident' })).toBeGreaterThan(0)
    expect(value('modelyard_ready')).toBe(1)
    expect(
      families.get('modelyard_wait_seconds')?.samples.find(({ name }) => name.endsWith('_count'))?.value,
    ).toBe(2)
    expect(text).not.toContain('my-secret-text')
  })

  it.skipIf(process.platform !== 'linux')(
    "shows each worker's memory and processor time, and the machine's swap",
    async () => {
      const yard = await yards.open({ models: { talker: WORKER } })
      const { url } = await yard.listen({ port: 0 })
      await yard.loadModel('talker')
      const families = readExposition(await (await fetch(`${url}/metrics`)).text())
      const labels = { model: 'talker', instance: yard.state().instances[0]?.id ?? '' }
      const [memory] = families.get('modelyard_worker_memory_bytes')?.samples ?? []
      const [processor] = families.get('modelyard_worker_cpu_seconds_total')?.samples ?? []
      expect([memory?.labels, processor?.labels]).toEqual([labels, labels])
      expect(memory?.value).toBeGreaterThan(5 * 1024 ** 2)
      expect(processor?.value).toBeGreaterThan(0)
      expect(families.has('modelyard_host_swap_total_bytes')).toBe(true)
    },
  )
})
