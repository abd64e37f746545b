import { copyFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createServer, type AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommand } from '../../src/host/run-command.ts'
import { SCRIPTED_MODELS } from './scripted-models.ts'
import { TINY_CHAT } from '../models/paths.ts'
import { until } from '../yard/harness.ts'
import { TestHome } from './program.ts'

const CHURNS_HEAP = join(import.meta.dirname, '../programs/churns-heap.cjs')
/** MiB: V8's young generation, and code and large strings beside the old one. What comes while it is being collected is half as much again. */
const YOUNG = 48

let home: TestHome
beforeEach(async () => {
  home = await TestHome.create({ models: SCRIPTED_MODELS })
})
afterEach(async () => await home.remove())

async function json(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(url)).json()) as Record<string, unknown>
}

describe('modelyard serve', () => {
  it('says where it listens in a line that ends with the address, what it serves and how to try it', async () => {
    const server = await home.serve()
    expect(await json(`${server.url}/healthz`)).toMatchObject({ ready: true })
    const curl = await server.shows(/^curl .*$/m)
    expect(server.out()).toContain('Models: fake, other, huge, starved, broken')
    expect(curl).toContain('"model":"fake"')
    const { logTail } = await runCommand({ command: 'sh', args: ['-c', curl] })
    expect(JSON.parse(logTail.at(-1) ?? '')).toMatchObject({
      choices: [{ message: { content: 'Hello there' } }],
    })
  })

  it('S1: a model that is put into the models folder is known without a restart, and forgotten when it goes', async () => {
    const server = await home.serve()
    const known = async (): Promise<string[]> =>
      ((await json(`${server.url}/api/yard/state`))['models'] as { id: string }[]).map(({ id }) => id)
    const place = join(home.path, 'models', 'newcomer.gguf')
    await mkdir(join(home.path, 'models'), { recursive: true })
    await copyFile(TINY_CHAT, place)
    await until(async () => (await known()).includes('newcomer'))
    await until(() => server.err().includes('Models that came: newcomer'))
    await rm(place)
    await until(async () => !(await known()).includes('newcomer'))
    await until(() => server.err().includes('Models that went: newcomer'))
    expect(await known()).toEqual(['fake', 'other', 'huge', 'starved', 'broken'])
  })

  it('holds not much more memory than what lives in it: under load it had four times as much', async () => {
    const server = await home.serve([], { environment: { NODE_OPTIONS: `--require "${CHURNS_HEAP}"` } })
    server.kill('SIGUSR2')
    const [, live, most] = /lived (\d+), took (\d+)/.exec(await server.tells(/lived \d+, took \d+/)) ?? []
    expect(Number(live)).toBeGreaterThan(40)
    expect(Number(most)).toBeLessThan(Number(live) * 2 + YOUNG)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('%s ends it cleanly', async (signal) => {
    const server = await home.serve()
    server.kill(signal)
    expect(await server.ended).toMatchObject({ code: 0, signal: null })
    expect(await home.run(['doctor', '--json'])).toMatchObject({ code: 0 })
  })

  it('an answer under way may end after a SIGTERM; a second one ends it all at once', async () => {
    const server = await home.serve()
    const answer = home.start(['run', 'fake', 'slowly'])
    await answer.shows('one')
    server.kill('SIGTERM')
    await server.tells('Stopping')
    expect(answer.out()).not.toContain('ten')
    server.kill('SIGTERM')
    expect(await server.ended).toMatchObject({ code: 143 })
    expect(await answer.ended).toMatchObject({
      code: 1,
      err: expect.stringContaining('broke the answer off') as string,
    })
  })

  it('a drained answer reaches its end', async () => {
    const server = await home.serve()
    const answer = home.start(['run', 'fake', 'slowly'])
    await answer.shows('one')
    server.kill('SIGTERM')
    expect(await answer.ended).toMatchObject({ code: 0, out: expect.stringContaining('ten') as string })
    expect(await server.ended).toMatchObject({ code: 0 })
  })

  it('a second one on the same home says who is there', async () => {
    const server = await home.serve()
    const { code, err } = await home.run(['serve', '--port', '0'])
    expect(code).toBe(8)
    expect(err).toContain(server.url)
    expect(err).toContain(String(server.pid))
  })

  it('a port that is taken is told with what to do', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const { code, err } = await home.run(['serve', '--port', String(port)])
    expect(code).toBe(2)
    expect(err).toMatch(/Another program uses that port.*--port/)
    await new Promise((resolve) => other.close(resolve))
    expect(await home.run(['ps'])).toMatchObject({ code: 0 })
  })

  it('reads its configuration again when it changes, and keeps the old one when the new one is wrong (BR-44)', async () => {
    const server = await home.serve()
    await home.configure({
      models: { ...SCRIPTED_MODELS, fresh: { engine: 'scripted', script: [{ text: ['new'] }] } },
    })
    await server.tells(/The configuration was read again: added fresh\./)
    expect(await home.run(['run', 'fresh', 'x'])).toMatchObject({ code: 0, out: 'new\n' })
    await home.configure({ models: { fresh: { engine: 'scripted', slotts: 1 } } })
    await server.tells(/stays as it was[\s\S]*slots/)
    expect(await home.run(['run', 'fake', 'x'])).toMatchObject({ code: 0 })
  })

  it('a configuration file that is deleted takes no model away', async () => {
    const server = await home.serve()
    await rm(join(home.path, 'modelyard.yaml'))
    await server.tells(/stays as it was[\s\S]*modelyard\.yaml/)
    expect(await home.run(['run', 'fake', 'x'])).toMatchObject({ code: 0 })
  })

  it('named models come beside the configured ones, and an unknown one is refused before it listens', async () => {
    const { code, err, out } = await home.run(['serve', '--port', '0', 'fakee'])
    expect(code).toBe(3)
    expect(err).toContain('fake')
    expect(out).toBe('')
  })

  it('--json prints one line', async () => {
    const server = home.start(['serve', '--port', '0', '--json'])
    const { url, pid, models } = JSON.parse(await server.shows(/^\{.*\}$/m)) as Record<string, unknown>
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(pid).toBe(server.pid)
    expect(models).toEqual(['fake', 'other', 'huge', 'starved', 'broken'])
  })
})

describe('commands beside a running server (C0)', () => {
  it('ps, list and plan print what the state route prints for that part', async () => {
    const server = await home.serve()
    expect(await home.run(['load', 'fake'])).toMatchObject({ code: 0 })
    const state = await json(`${server.url}/api/yard/state`)
    const stable = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value).replaceAll(
          /"(idleFor|expiresIn|available|lastError)":(-?[\d.]+|null)/g,
          '"$1":0',
        ),
      )
    const ps = JSON.parse((await home.run(['ps', '--json'])).out) as Record<string, unknown>
    for (const part of ['instances', 'queue', 'memory', 'threads', 'runs']) {
      expect(stable(ps[part])).toEqual(stable(state[part]))
    }
    expect(JSON.parse((await home.run(['list', '--json'])).out)).toEqual(state.models)
    expect(stable(JSON.parse((await home.run(['plan', 'fake', '--json'])).out))).toEqual(
      stable(await json(`${server.url}/api/yard/plan/fake`)),
    )
  })

  it('run and chat are answered by the server: the model stays in its memory', async () => {
    const server = await home.serve()
    expect(await home.run(['run', 'fake', 'hi'])).toMatchObject({ code: 0, out: 'Hello there\n', err: '' })
    expect(await home.run(['chat', 'other', '--no-history'], { input: 'hi\n' })).toMatchObject({
      out: 'other\n',
    })
    const { instances } = (await json(`${server.url}/api/yard/state`)) as { instances: { model: string }[] }
    expect(instances.map(({ model }) => model).toSorted()).toEqual(['fake', 'other'])
    expect((await home.run(['ps'])).out).toMatch(/fake#\d+ +fake +ready +0 of 4 busy/)
    expect(await home.run(['unload', 'fake'])).toMatchObject({
      code: 0,
      out: 'fake is not in memory any more.\n',
    })
    expect((await home.run(['ps'])).out).not.toContain('fake#')
    expect(JSON.parse((await home.run(['load', 'faker', '--json'])).out)).toEqual({
      model: 'fake',
      state: 'ready',
      contextSize: 512,
      slots: 4,
    })
    expect((await home.run(['load', 'fake', '--context', '256'])).out).toMatch(
      /^fake is in memory after .*s, with 512 tokens per slot \(256 asked\)\.\n$/,
    )
  })

  it('errors keep their codes on the way through the server', async () => {
    await home.serve()
    expect((await home.run(['run', 'nobody', 'x'])).code).toBe(3)
    expect((await home.run(['run', 'huge', 'x'])).code).toBe(4)
    expect((await home.run(['run', 'broken', 'x'])).code).toBe(6)
    expect(await home.run(['run', 'fake', 'break'])).toMatchObject({ code: 1, out: 'half\n' })
    expect((await home.run(['run', 'fake', 'word '.repeat(600)])).code).toBe(2)
    expect((await home.run(['plan', 'huge'])).code).toBe(4)
    expect((await home.run(['load', 'nobody'])).code).toBe(3)
  })

  it.each([
    ['starved', 4],
    ['broken', 6],
    ['huge', 4],
    ['nobody', 3],
  ])('a command attached to a server ends as one without: %s with %d', async (model, code) => {
    const alone = await home.run(['run', model, 'hi', '--json'])
    await home.serve()
    const attached = await home.run(['run', model, 'hi', '--json'])
    expect([alone.code, attached.code]).toEqual([code, code])
  })

  it('server.log writes a line per request to standard error, and never a prompt', async () => {
    await home.configure({ models: SCRIPTED_MODELS, server: { log: true } })
    const server = await home.serve()
    await home.run(['run', 'fake', 'my-secret-text'])
    await json(`${server.url}/v1/models/nobody?my-secret-text`)
    const line = /^\d{4}-\d\d-\d\dT[\d:.]+Z req_[0-9a-f]{24} /
    const [post] = (await server.tells(/^.* POST \/v1\/chat\/completions 200 \d+ ms$/m)).split('\n')
    const [get] = (await server.tells(/^.* GET \/v1\/models\/nobody 404 \d+ ms model_not_found$/m)).split(
      '\n',
    )
    expect([post, get]).toEqual([expect.stringMatching(line), expect.stringMatching(line)])
    expect(server.err() + server.out()).not.toContain('my-secret-text')
  })

  it('Ctrl-C cancels the run in the server too', async () => {
    const server = await home.serve()
    const asked = home.start(['run', 'fake', 'slowly'])
    await asked.shows('one')
    asked.kill('SIGINT')
    expect(await asked.ended).toMatchObject({ code: 130 })
    // Left alone it would have ended with the end of its text.
    await expect
      .poll(async () => (await json(`${server.url}/api/yard/runs`)).runs)
      .toMatchObject([{ outcome: 'aborted' }])
  })

  it('the JSON of a command that SIGTERM ends has the exit code that it ends with', async () => {
    const server = await home.serve()
    const asked = home.start(['run', 'fake', 'slowly', '--json'])
    await expect
      .poll(async () => (await json(`${server.url}/api/yard/state`)).runs)
      .toMatchObject({ active: 1 })
    asked.kill('SIGTERM')
    const { code, err } = await asked.ended
    expect(code).toBe(143)
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'aborted', exitCode: 143 } })
  })

  it('a server with keys is spoken to with the key of its configuration, or of the environment', async () => {
    await home.configure({ models: SCRIPTED_MODELS, server: { keys: { inference: 'one', admin: 'two' } } })
    const server = await home.serve()
    expect((await fetch(`${server.url}/api/yard/state`)).status).toBe(401)
    expect(await server.shows(/^curl .*$/m)).toContain('Bearer $MODELYARD_API_KEY')
    expect(await home.run(['run', 'fake', 'hi'])).toMatchObject({ code: 0, out: 'Hello there\n' })
    expect(await home.run(['ps'])).toMatchObject({ code: 0 })
    const wrong = await home.run(['ps'], { environment: { MODELYARD_API_KEY: 'wrong' } })
    expect(wrong.code).toBe(1)
  })

  it('--config beside a server is said not to count', async () => {
    const server = await home.serve()
    const { code, err } = await home.run(['ps', '--config', 'modelyard.yaml'])
    expect(code).toBe(0)
    expect(err).toContain(`The server at ${server.url} answers`)
  })

  it('a server that was killed leaves a home that can be used', async () => {
    const server = await home.serve()
    server.kill('SIGKILL')
    await server.ended
    expect(await home.run(['run', 'fake', 'hi'])).toMatchObject({ code: 0, out: 'Hello there\n' })
  })
})
