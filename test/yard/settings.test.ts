import { describe, expect, it } from 'vitest'
import type { SettingStatus } from '../../src/server/control-port.ts'
import type { Yard } from '../../src/yard.ts'
import { Api, ownYards, TALKER, until, user } from './harness.ts'

const yards = ownYards()

const MIB = 1024 ** 2
const TALKERS = {
  a: { ...TALKER, memory: '300MiB' },
  b: { ...TALKER, memory: '300MiB' },
}

async function api(yard: Yard): Promise<Api> {
  return new Api((await yard.listen({ port: 0 })).url)
}

async function send(
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url + path, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  return { status: response.status, body: await response.json() }
}

function setting(yard: Yard, key: string): Partial<SettingStatus> {
  return yard.control.settings.list().find((status) => status.key === key) ?? {}
}

const loaded = (yard: Yard): string[] => yard.state().instances.map(({ model }) => model)

describe('M2: settings at run time', () => {
  it('a smaller budget evicts the idle by the same rules and never cuts a run', async () => {
    const yard = await yards.open({ models: TALKERS, memory: { budget: '700MiB', headroom: 0 } })
    const { url } = await api(yard)
    const stream = await new Api(url).stream('for ever', { model: 'a' })
    await stream.readText(20)
    await yard.loadModel('b')
    expect(loaded(yard)).toEqual(['a', 'b'])
    const answer = await send(url, 'PATCH', '/api/yard/settings', { 'memory.budget': '100MiB' })
    expect(answer.status).toBe(200)
    expect(yard.state().memory.ram?.budget).toBe(100 * MIB)
    await until(() => loaded(yard).join() === 'a')
    await stream.readText(stream.text.length + 50)
    expect([stream.errors, yard.state().instances[0]?.leases]).toEqual([[], 1])
  })

  it('a budget of 0 is taken and said to load nothing; the next request is refused with it, not left waiting', async () => {
    const yard = await yards.open({ models: TALKERS, memory: { budget: '700MiB', headroom: 0 } })
    const { url } = await api(yard)
    const warned: string[] = []
    yard.subscribe(({ name, data }) => name === 'warning-raised' && warned.push(data.code))
    const { status, body } = await send(url, 'PATCH', '/api/yard/settings', { 'memory.budget': 0 })
    const { settings } = body as { settings: SettingStatus[] }
    expect([status, warned]).toEqual([200, ['budget_empty']])
    expect(settings.find(({ key }) => key === 'memory.budget')?.warning).toMatch(
      /^The budget of ram is 0 bytes/,
    )
    await expect(yard.loadModel('a')).rejects.toMatchObject({ code: 'model_too_large' })
    await yard.control.settings.change({ 'memory.budget': null })
    expect(setting(yard, 'memory.budget').warning).toBeUndefined()
  })

  it('are kept over a restart, each with its origin, and can be taken back', async () => {
    const options = { models: TALKERS, memory: { budget: '700MiB', absolute: '1GiB' } }
    const first = await yards.open(options)
    expect(setting(first, 'memory.budget')).toMatchObject({ origin: 'file', value: '700MiB' })
    expect(setting(first, 'keepAlive')).toMatchObject({ origin: 'default', value: null, effective: 300_000 })
    await first.control.settings.change({ 'memory.budget': '600MiB', keepAlive: '1h' })
    await first.stop()
    const second = await yards.open(options)
    expect(setting(second, 'memory.budget')).toMatchObject({
      origin: 'settings',
      value: '600MiB',
      effective: { ram: 600 * MIB },
    })
    await second.loadModel('a')
    expect(second.state().instances[0]?.expiresIn).toBeGreaterThan(3_000_000)
    await second.control.settings.change({ 'memory.budget': null, keepAlive: null })
    expect(setting(second, 'memory.budget')).toMatchObject({ origin: 'file', effective: { ram: 700 * MIB } })
    await until(() => (second.state().instances[0]?.expiresIn ?? 0) <= 300_000)
  })

  it.each([
    [{ 'memory.budgte': '1GiB' }, 'memory.budgte', 'Did you mean "memory.budget"?'],
    [{ 'memory.budget': 'much' }, 'memory.budget', 'is not a size'],
    [{ 'memory.budget': '900MiB' }, 'memory.absolute', 'must not be below the budget'],
    [{ keepAlive: '1h', 'server.port': 80 }, 'server.port', 'is not a setting that can change'],
    [{ 'models.a.engine': 'x' }, 'models.a.engine', 'these can change at run time: pinned'],
    [{ 'models.a.slots': 0 }, 'models.a.slots', 'from 1 to 1024'],
  ])('%j is refused whole, with the key', async (changes, param, words) => {
    const yard = await yards.open({ models: TALKERS, memory: { budget: '700MiB', absolute: '800MiB' } })
    const { url } = await api(yard)
    const before = yard.control.settings.list()
    expect(await send(url, 'PATCH', '/api/yard/settings', changes)).toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'invalid_request',
          details: { param },
          message: expect.stringContaining(words) as string,
        },
      },
    })
    expect(yard.control.settings.list()).toEqual(before)
  })

  it('stored settings that no longer suit the configuration do not keep the yard from starting', async () => {
    const first = await yards.open({ models: TALKERS })
    await first.control.settings.change({ 'memory.absolute': '1GiB' })
    await first.stop()
    const second = await yards.open({ models: TALKERS, memory: { budget: '2GiB' } })
    const warnings: string[] = []
    second.subscribe((event) => {
      if (event.name === 'warning-raised') warnings.push(event.data.message)
    })
    expect(warnings).toEqual([expect.stringContaining('do not suit this configuration')])
    expect(second.state().memory.ram?.budget).toBe(2048 * MIB)
  })
})

describe('M20: models changed at run time', () => {
  it('a pin holds at once for what is loaded, and can be taken off', async () => {
    const yard = await yards.open({ models: TALKERS, memory: { budget: '400MiB', headroom: 0 } })
    const { url } = await api(yard)
    await yard.loadModel('a')
    expect(await send(url, 'POST', '/api/yard/pin', { model: 'a' })).toEqual({
      status: 200,
      body: { model: 'a', pinned: true },
    })
    expect(yard.state().instances[0]?.expiresIn).toBe(null)
    await expect(yard.loadModel('b')).rejects.toMatchObject({
      message: expect.stringContaining('pinned') as string,
    })
    expect((await send(url, 'POST', '/api/yard/pin', { model: 'a', pinned: false })).status).toBe(200)
    await yard.loadModel('b')
    expect(loaded(yard)).toEqual(['b'])
  })

  it('M17: aliases, idle time and being switched off: applied to what is loaded', async () => {
    const yard = await yards.open({ models: TALKERS, memory: { headroom: 0 } })
    const answer = (model: string): Promise<string> => yard.chat({ model, messages: [user('hi')] }).text()
    await yard.loadModel('a')
    const [instance] = yard.state().instances
    await yard.control.settings.change({ 'models.a.aliases': ['anna'], 'models.a.keepAlive': '2h' })
    expect(await answer('anna')).toBe('Hello')
    expect(yard.state().instances[0]).toMatchObject({ id: instance?.id })
    expect(yard.state().instances[0]?.expiresIn).toBeGreaterThan(7_000_000)
    await yard.control.settings.change({ 'models.a.enabled': false })
    await expect(answer('a')).rejects.toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('switched off') as string,
    })
    expect((await yard.listModels()).map(({ id }) => id)).toEqual(['b'])
    await until(() => loaded(yard).length === 0)
    await yard.control.settings.change({ 'models.a.enabled': null })
    expect(await answer('a')).toBe('Hello')
  })
})

describe('M20: names and favourites', () => {
  it('a model is renamed and made a favourite while it runs: both names work, nothing is loaded anew', async () => {
    const yard = await yards.open({ models: TALKERS, memory: { headroom: 0 } })
    const { url } = await api(yard)
    await yard.loadModel('b')
    const changes = { 'models.b.name': 'writer', 'models.b.favourite': true }
    expect((await send(url, 'PATCH', '/api/yard/settings', changes)).status).toBe(200)
    for (const model of ['b', 'writer']) {
      expect(await yard.chat({ model, messages: [user('hi')] }).text()).toBe('Hello')
    }
    expect(yard.state().instances).toMatchObject([{ id: 'b#1' }])
    const listed = (await send(url, 'GET', '/v1/models')).body as { data: object[] }
    expect(listed.data).toMatchObject([
      { id: 'b', name: 'writer', favourite: true },
      { id: 'a', name: 'a', favourite: false },
    ])
    await yard.control.settings.change({ 'models.b.name': null, 'models.b.favourite': null })
    await expect(yard.loadModel('writer')).rejects.toMatchObject({ code: 'model_not_found' })
    expect(yard.state().models.map(({ id }) => id)).toEqual(['a', 'b'])
  })

  it('a name that stands for another model is refused, and so is one that no request could write', async () => {
    const yard = await yards.open({ models: TALKERS, memory: { headroom: 0 } })
    await expect(yard.control.settings.change({ 'models.b.name': 'a' })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('a name of model "a" already') as string,
    })
    await expect(yard.control.settings.change({ 'models.b.name': '' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    await yard.control.settings.change({ 'models.b.name': 'b' })
    expect(yard.state().models.find(({ id }) => id === 'b')?.name).toBe('b')
  })
})

describe('M14: models loaded at the start', () => {
  it('in the background, the largest first, and a failure is a warning', async () => {
    const models = {
      small: { ...TALKER, memory: '10MiB', loadTime: 50 },
      large: { ...TALKER, memory: '200MiB', loadTime: 50 },
      broken: {
        ...TALKER,
        memory: '20MiB',
        failLoad: { class: 'bad_file' as const, message: 'A cake recipe.' },
      },
    }
    const yard = await yards.open({
      models,
      memory: { headroom: 0 },
      preload: ['small', 'broken', 'nobody', 'large'],
    })
    const loads: string[] = []
    const warnings: string[] = []
    yard.subscribe((event) => {
      if (event.name === 'load-started') loads.push(event.data.model)
      if (event.name === 'warning-raised') warnings.push(event.data.message)
    })
    await until(() => loaded(yard).includes('small'))
    expect(loads).toEqual(['large', 'broken', 'small'])
    await until(() => warnings.length === 2)
    expect(warnings.join(' ')).toMatch(/"nobody" could not be prepared.*"broken" could not be prepared/s)
  })
})
