import { copyFile, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HubServer } from '../downloads/hub-server.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import { ENGINES_DIRECTORY, fetched, TINY_CHAT, TINY_CHAT_FOLDER } from '../models/paths.ts'
import { TestHome } from './program.ts'

/** A model that is fetched from a server on this machine. */
describe('pull, list, show and remove (S2, S6)', () => {
  let home: TestHome
  let server: Server
  let address = ''
  let asked = 0
  beforeEach(async () => {
    home = await TestHome.create()
    await symlink(ENGINES_DIRECTORY, join(home.path, 'engines'))
    const bytes = await readFile(TINY_CHAT)
    asked = 0
    server = createServer((request, response) => {
      if (request.method === 'GET') asked++
      if (request.url === '/slow.gguf') {
        response.writeHead(200, { 'content-length': bytes.length })
        response.write(bytes.subarray(0, 100))
      } else if (request.url !== '/tiny.gguf') response.writeHead(404).end()
      else response.writeHead(200, { 'content-length': bytes.length }).end(bytes)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await home.remove()
  })

  it('a fetched model is listed, shown, and gone after it was removed', async () => {
    const pulled = await home.run(['pull', `${address}/tiny.gguf`, '--json'])
    const { model, path, bytes } = JSON.parse(pulled.out) as { model: string; path: string; bytes: number }
    expect({ code: pulled.code, model, bytes }).toEqual({
      code: 0,
      model: 'tiny',
      bytes: (await stat(TINY_CHAT)).size,
    })
    expect((await readFile(path)).equals(await readFile(TINY_CHAT))).toBe(true)
    expect(pulled.err).toContain('tiny.gguf')
    expect((await home.run(['list'])).out).toMatch(/^tiny +unloaded/m)
    expect((await home.run(['show', 'tiny'])).out).toMatch(/architecture +qwen2\n/)
    const refused = await home.run(['remove', 'tiny'])
    expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/would free .*--yes/) as string })
    const removed = await home.run(['remove', 'tiny', '--yes', '--json'])
    expect(JSON.parse(removed.out)).toEqual({ model: 'tiny', path, freed: bytes })
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
    expect((await home.run(['list'])).out).toContain('No model is known yet')
  })

  it('a list says what files say, of embedders and folders, too, and nothing of a model that is not here', async () => {
    await using hub = await HubServer.start()
    for (const name of ['config.json', 'model.safetensors', 'tokenizer.json'])
      hub.add('org/tiny', name, await readFile(join(TINY_CHAT_FOLDER, name)))
    await home.configure({
      downloads: { endpoint: hub.endpoint },
      models: { later: { source: 'hf:org/later' } },
    })
    await mkdir(join(home.path, 'models'), { recursive: true })
    makeTinyModel(join(home.path, 'models', 'vectors.gguf'), { pooling: 'mean' })
    await home.run(['pull', 'hf:org/tiny'])
    const { out } = await home.run(['list'])
    expect(out).toMatch(/^later +unloaded +– +– +– +– *$/m)
    expect(out).toMatch(/^org\/tiny +unloaded +generation +mlx +float32 +– *$/m)
    expect(out).toMatch(/^vectors +unloaded +embedding +node-llama-cpp +F32 +– *$/m)
    const listed = JSON.parse((await home.run(['list', '--json'])).out) as object[]
    expect(listed).toMatchObject([
      { id: 'later', purpose: null },
      { id: 'org/tiny', purpose: 'generation', engine: 'mlx', quantization: 'float32' },
      { id: 'vectors', purpose: 'embedding' },
    ])
    const shown = (await home.run(['show', 'org/tiny'])).out
    expect(shown).toMatch(/^engine +mlx\n/m)
    expect(shown).toMatch(/^weights +float32\n/m)
    const removed = await home.run(['remove', 'org/tiny', '--yes'])
    expect(removed).toMatchObject({ code: 0 })
    expect((await readdir(join(home.path, 'models'))).filter((name) => !name.startsWith('.'))).toEqual([
      'vectors.gguf',
    ])
  })

  it('of a repository, run asks what it has before it installs an engine or fetches a byte', async () => {
    await using hub = await HubServer.start()
    for (const name of ['config.json', 'model.safetensors', 'tokenizer.json'])
      hub.add('org/tiny', name, { content: await readFile(join(TINY_CHAT_FOLDER, name)), sha256: null })
    const other = await TestHome.create({ downloads: { endpoint: hub.endpoint } })
    try {
      const run = (): ReturnType<TestHome['run']> => other.run(['run', 'hf:org/tiny', 'hi', '--no-install'])
      const mlx = { code: 5, err: expect.stringContaining('engines install mlx') as string }
      expect(await run()).toMatchObject(mlx)
      expect(hub.fileRequests.filter(({ path }) => path.endsWith('.safetensors'))).toEqual([])
      await other.run(['pull', 'hf:org/tiny'])
      expect(await run(), 'of what is here its files tell').toMatchObject(mlx)
      expect(await other.run(['run', 'org/tiny', 'hi', '--no-install']), 'by its name, too').toMatchObject(
        mlx,
      )
    } finally {
      await other.remove()
    }
  })

  it('what is here is not fetched again', async () => {
    await home.run(['pull', `${address}/tiny.gguf`])
    const before = asked
    expect(await home.run(['pull', `${address}/tiny.gguf`])).toMatchObject({ code: 0, err: '' })
    expect(asked).toBe(before)
  })

  it('a file that is not there is a failed download', async () => {
    const { code, err } = await home.run(['pull', `${address}/nothing.gguf`])
    expect(code).toBe(7)
    expect(err).toMatch(/^error: .*404/m)
  })

  it('an own file is never deleted', async () => {
    await mkdir(join(home.path, 'models'))
    const path = join(home.path, 'models', 'mine.gguf')
    await copyFile(TINY_CHAT, path)
    expect((await home.run(['list'])).out).toMatch(/^mine +unloaded/m)
    expect(await home.run(['remove', 'mine', '--yes'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('your own file') as string,
    })
    expect((await stat(path)).size).toBeGreaterThan(0)
  })

  it('a name that nobody knows never makes anybody reach for the internet', async () => {
    const { code, err } = await home.run(['pull', 'smollm3'])
    expect(code).toBe(3)
    expect(err).toContain('"smollm2"')
  })

  it.skipIf(!fetched(ENGINES_DIRECTORY))(
    'serve fetches a model that was named, with progress, before it listens',
    async () => {
      const running = await home.serve([`${address}/tiny.gguf`])
      expect(await running.tells('tiny.gguf')).toBe('tiny.gguf')
      expect(await running.shows(/^Models: .*$/m)).toBe('Models: tiny')
    },
  )

  it.skipIf(!fetched(ENGINES_DIRECTORY))('a SIGTERM while serve still fetches ends it cleanly', async () => {
    const running = home.start(['serve', '--port', '0', `${address}/slow.gguf`])
    await running.tells('slow.gguf')
    running.kill('SIGTERM')
    expect(await running.ended).toMatchObject({ code: 0, out: '' })
  })

  it('a running server knows a model as soon as it was pulled beside it', async () => {
    await home.configure({ models: { fake: { engine: 'scripted' } } })
    const running = await home.serve()
    expect(await home.run(['show', 'tiny'])).toMatchObject({ code: 3 })
    expect(await home.run(['pull', `${address}/tiny.gguf`])).toMatchObject({ code: 0 })
    expect(await home.run(['show', 'tiny'])).toMatchObject({ code: 0 })
    // The server may have seen by itself that it came.
    expect(running.err().replace('Models that came: tiny\n', '')).toBe('')
  })
})
