import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES_DIRECTORY, fetched, TINY_CHAT } from '../models/paths.ts'
import { TestHome } from './program.ts'

/** Real weights, no configuration: `modelyard serve MODEL.gguf` (C2). */
describe.skipIf(!fetched(ENGINES_DIRECTORY))('a model file without any configuration', () => {
  let home: TestHome
  beforeAll(async () => {
    home = await TestHome.create()
    await symlink(ENGINES_DIRECTORY, join(home.path, 'engines'))
  })
  afterAll(async () => await home.remove())

  it('run answers from it', async () => {
    const { code, out } = await home.run(['run', TINY_CHAT, 'hi', '--temperature', '0'])
    expect({ code, out }).toEqual({ code: 0, out: 'Hello, how are you today?\n' })
  })

  it('serve serves it, commands find it by its name, and nothing is left in memory afterwards', async () => {
    const server = await home.serve([TINY_CHAT])
    await server.shows('"model":"tiny-chat"')
    expect(await home.run(['run', 'tiny-chat', 'Count.', '--temperature', '0'])).toMatchObject({
      code: 0,
      out: 'one two three four five six seven eight nine ten\n',
    })
    const { instances } = JSON.parse((await home.run(['ps', '--json'])).out) as {
      instances: { pid: number }[]
    }
    expect(instances).toHaveLength(1)
    server.kill('SIGTERM')
    expect(await server.ended).toMatchObject({ code: 0 })
    expect(() => process.kill(instances[0]?.pid ?? 0, 0)).toThrow('ESRCH')
  })

  it('an engine that is missing is refused with the remedy when it must not be installed', async () => {
    const bare = await TestHome.create()
    const { code, err } = await bare.run(['serve', '--port', '0', '--no-install', TINY_CHAT])
    expect(code).toBe(5)
    expect(err).toContain('modelyard engines install node-llama-cpp')
    await bare.remove()
  })
})
