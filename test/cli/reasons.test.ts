import { appendFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SCRIPTED_MODELS } from './scripted-models.ts'
import { TestHome } from './program.ts'
import type { YardState } from '../../src/yard-state.ts'
import { until } from '../yard/harness.ts'

const WORKER = { engine: 'scripted', isolation: 'worker', memory: '300MiB', script: [{ text: ['Hi'] }] }
const ENDLESS = { ...WORKER, script: [{ text: 'tick ', repeat: 100_000, delay: 10 }] }
const MODELS = { ...SCRIPTED_MODELS, one: WORKER, two: WORKER, endless: ENDLESS }

let home: TestHome
beforeEach(async () => {
  home = await TestHome.create({ models: MODELS, memory: { budget: '400MiB', headroom: 0 } })
})
afterEach(async () => await home.remove())

async function chat(url: string, model: string): Promise<Response> {
  return await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'my-secret-text' }] }),
  })
}

describe('R19: modelyard why', () => {
  it('a request: what it waited for, why it got its place, who had to go for it', async () => {
    const { url } = await home.serve()
    await chat(url, 'one')
    const answer = await chat(url, 'two')
    const request = answer.headers.get('x-request-id') ?? ''
    expect(answer.headers.get('modelyard-placement')).toMatch(/\S/)
    const { code, out } = await home.run(['why', request])
    expect(code).toBe(0)
    expect(out).toMatch(/^run_\w+ on two\n {2}- It ended with stop after /)
    expect(out).toMatch(/- It waited .* for a place, .* of it for a load\./)
    expect(out).toMatch(/- It ran on two#\d+: .*\./)
    expect(out).toMatch(/- one#1 had to go meanwhile: frees 300 MiB for "two" \(300 MiB\); idle for/)
    const run = JSON.parse(
      (await home.run(['why', answer.headers.get('modelyard-run') ?? '', '--json'])).out,
    ) as object
    expect(run).toMatchObject({ subject: 'run', run: { request, outcome: 'stop', model: 'two' } })
    expect(out + JSON.stringify(run)).not.toContain('my-secret-text')
  })

  it('a run that waits: its place and what for; one that runs: where and why there; each by run and by request', async () => {
    const { url } = await home.serve()
    const running = chat(url, 'endless')
    const state = async (): Promise<YardState> =>
      (await (await fetch(`${url}/api/yard/state`)).json()) as YardState
    await until(async () => (await state()).activity.some((run) => run.state === 'running'))
    const waiting = chat(url, 'one')
    await until(async () => (await state()).activity.some((run) => run.state === 'waiting'))
    const { activity } = await state()
    expect(activity).toMatchObject([
      { model: 'endless', state: 'running', kind: 'chat', instance: 'endless#1' },
      { model: 'one', state: 'waiting', instance: null, request: expect.stringMatching(/^req_/) as string },
    ])
    const [runs, waits] = activity
    const told = (await home.run(['why', waits?.request ?? ''])).out
    expect(told).toMatch(/^run_\w+ on one\n {2}- It has waited .* and is number 1 for its model: /)
    expect(told).toContain('endless#1')
    const answer = JSON.parse((await home.run(['why', runs?.run ?? '', '--json'])).out) as object
    expect(answer).toMatchObject({ subject: 'run', id: runs?.run, state: 'running', model: 'endless' })
    expect(JSON.stringify(answer)).toMatch(/begun .* ago and has not ended.*It ran on endless#1: /)
    expect(told + JSON.stringify([answer, activity])).not.toContain('my-secret-text')
    expect((await home.run(['ps'])).out).toContain(waits?.run)
    expect((await home.run(['unload', 'endless', '--force'])).code).toBe(0)
    expect([(await running).status, (await waiting).status]).toEqual([503, 200])
    expect((await state()).activity).toEqual([])
  })

  it('a refusal: its numbers; a model: its state and what happened last; nobody: exit code 3', async () => {
    const { url } = await home.serve()
    const refused = await chat(url, 'huge')
    expect(refused.status).toBe(507)
    const told = (await home.run(['why', refused.headers.get('x-request-id') ?? ''])).out
    expect(told).toMatch(/ended with model_too_large: .*900 TiB.*400 MiB/s)
    expect(told).toContain('It never had a place.')
    await chat(url, 'one')
    const model = (await home.run(['why', 'one'])).out
    expect(model).toMatch(/^one\n {2}- It is ready\.\n {2}- one#\d+ is idle and goes in /)
    expect(model).toMatch(/Z {2}a load began \(one#\d+\): /)
    expect((await home.run(['why', 'nobody'])).code).toBe(3)
    expect(await home.run(['why', 'req_0'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('modelyard ps') as string,
    })
  })
})

describe('runs', () => {
  it('are listed newest first, filtered, and found by id', async () => {
    const { url } = await home.serve()
    await chat(url, 'fake')
    await chat(url, 'other')
    await chat(url, 'nobody')
    const list = async (query: string): Promise<{ model: string; id: string }[]> =>
      (
        (await (await fetch(`${url}/api/yard/runs${query}`)).json()) as {
          runs: { model: string; id: string }[]
        }
      ).runs
    expect((await list('')).map(({ model }) => model)).toEqual(['nobody', 'other', 'fake'])
    expect((await list('?outcome=stop&limit=1')).map(({ model }) => model)).toEqual(['other'])
    const [fake] = await list('?model=fake')
    expect(await (await fetch(`${url}/api/yard/runs/${fake?.id}`)).json()).toEqual(fake)
    expect((await fetch(`${url}/api/yard/runs/run_0`)).status).toBe(404)
    const wrong = await fetch(`${url}/api/yard/runs?modle=fake`)
    expect([wrong.status, await wrong.json()]).toMatchObject([
      400,
      { error: { details: { param: 'modle' } } },
    ])
  })
})

describe('modelyard logs and events', () => {
  it('logs shows what the worker of a model wrote, also after it has gone; --follow goes on until it is ended', async () => {
    await home.configure({
      models: {
        ...MODELS,
        noisy: {
          engine: 'scripted',
          isolation: 'worker',
          script: [{ text: 'x' }],
          failLoad: { class: 'bad_file', message: 'A cake.' },
        },
      },
    })
    const { url } = await home.serve()
    await chat(url, 'one')
    expect(await home.run(['logs', 'one'])).toMatchObject({ code: 0 })
    const logs = join(home.path, 'logs')
    const file = (await readdir(logs)).find((name) => name.startsWith('one')) ?? ''
    await appendFile(join(logs, file), 'what it wrote\n')
    const followed = home.start(['logs', 'one', '--follow', '-n', '5'])
    await followed.shows('what it wrote')
    await appendFile(join(logs, file), 'and more\n')
    await followed.shows('and more')
    followed.kill('SIGINT')
    expect(await followed.ended).toMatchObject({ code: 130, err: '' })
    expect((await home.run(['logs', 'nobody'])).code).toBe(3)
    expect(await home.run(['logs', 'fake'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('has no log') as string,
    })
    expect((await fetch(`${url}/api/yard/logs?instance=one&lines=x`)).status).toBe(400)
  })

  it('events prints a line for each until it is ended', async () => {
    const { url } = await home.serve()
    const watched = home.start(['events'])
    // Once it has shown anything it is told everything.
    await until(async () => {
      await chat(url, 'two')
      return watched.out() !== ''
    }, 60_000)
    await chat(url, 'one')
    await watched.shows(/Z {2}load-started {2}\{"model":"one"/)
    await watched.shows('run-finished')
    watched.kill('SIGINT')
    expect((await watched.ended).out).not.toContain('my-secret-text')
  })
})

describe('modelyard settings, pin and unpin', () => {
  it('show, set, get and reset, beside a server and without one', async () => {
    expect((await home.run(['settings'])).out).toMatch(/^memory\.budget +400MiB +file +Soft budget/m)
    expect((await home.run(['settings', 'set', 'memory.budget', '350MiB'])).out).toBe(
      'memory.budget: 350MiB (settings)\n',
    )
    const { url } = await home.serve()
    const state = (await (await fetch(`${url}/api/yard/state`)).json()) as {
      memory: { ram: { budget: number } }
    }
    expect(state.memory.ram.budget).toBe(350 * 1024 ** 2)
    expect((await home.run(['settings', 'set', 'memory.maxLargeModels', '2'])).out).toBe(
      'memory.maxLargeModels: 2 (settings)\n',
    )
    expect(JSON.parse((await home.run(['settings', 'get', 'memory.budget', '--json'])).out)).toMatchObject({
      origin: 'settings',
    })
    expect((await home.run(['settings', 'reset', 'memory.budget'])).out).toBe(
      'memory.budget: 400MiB (file)\n',
    )
    expect(await home.run(['settings', 'set', 'memory.budget', 'much'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not a size') as string,
    })
    expect(await home.run(['settings', 'get', 'memory.budgte'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Did you mean "memory.budget"') as string,
    })
    expect((await home.run(['pin', 'faker', '--soft'])).out).toBe('faker is evicted last.\n')
    expect((await home.run(['settings', 'get', 'models.fake.pinned'])).out).toBe('soft (settings)\n')
    expect((await home.run(['unpin', 'fake'])).out).toBe('fake may be evicted again.\n')
  })
})

describe('M5: modelyard load --force', () => {
  it('goes beyond the budget, up to the absolute limit, and never above', async () => {
    const models = {
      small: { ...WORKER, memory: '300MiB' },
      medium: { ...WORKER, memory: '450MiB' },
      large: { ...WORKER, memory: '600MiB' },
    }
    const forced = await TestHome.create({
      models,
      memory: { budget: '400MiB', absolute: '500MiB', headroom: 0 },
    })
    try {
      const { url } = await forced.serve()
      expect(await forced.run(['load', 'medium'])).toMatchObject({
        code: 4,
        err: expect.stringContaining('400 MiB') as string,
      })
      expect((await forced.run(['load', 'medium', '--force'])).code).toBe(0)
      const state = (await (await fetch(`${url}/api/yard/state`)).json()) as YardState
      expect(state.instances.map(({ model }) => model)).toEqual(['medium'])
      expect(await forced.run(['load', 'large', '--force'])).toMatchObject({
        code: 4,
        err: expect.stringContaining('500 MiB') as string,
      })
    } finally {
      await forced.remove()
    }
  })
})
