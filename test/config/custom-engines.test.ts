import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../src/config.ts'
import { configurationDifference } from '../../src/config/configuration-change.ts'
import type { YardConfiguration } from '../../src/config/yard-configuration.ts'
import { createYard } from '../../src/yard.ts'

const ENGINE = `
import { defineEngine } from 'modelyard'
export default defineEngine({
  name: 'echo',
  tasks: ['chat'],
  load: ({ options }) => ({ async *run() { yield String(options.word) } }),
})
`

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'yard-engines-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function load(name: string, text: string): Promise<YardConfiguration> {
  const file = join(folder, name)
  await writeFile(file, text)
  return await loadConfiguration({
    file,
    workingDirectory: folder,
    environment: { MODELYARD_HOME: join(folder, 'home') },
  })
}

async function answerOf(configuration: YardConfiguration): Promise<string> {
  await using yard = await createYard({ configuration, home: false })
  return await yard.chat({ model: 'a', messages: [{ role: 'user', content: 'x' }] }).text()
}

describe('P14: engines that a configuration brings', () => {
  it('a module beside a YAML file, in TypeScript', async () => {
    await writeFile(join(folder, 'echo.ts'), ENGINE)
    const configuration = await load(
      'modelyard.yaml',
      'engines: ./echo.ts\nmodels: { a: { engine: echo, word: yes! } }',
    )
    expect(await answerOf(configuration)).toBe('yes!')
  })

  it('a package in the folder’s node_modules', async () => {
    const place = join(folder, 'node_modules', 'some-engine')
    await mkdir(place, { recursive: true })
    await writeFile(
      join(place, 'package.json'),
      JSON.stringify({ name: 'some-engine', type: 'module', exports: './index.ts' }),
    )
    await writeFile(join(place, 'index.ts'), ENGINE)
    const configuration = await load(
      'modelyard.json',
      JSON.stringify({ engines: ['some-engine'], models: { a: { engine: 'echo', word: 0 } } }),
    )
    expect(await answerOf(configuration)).toBe('0')
  })

  it('an object in a TypeScript file, and a file that is run again means the same', async () => {
    const text = `${ENGINE.replace('export default', 'const echo =')}
export default { engines: [echo], models: { a: { engine: 'echo', word: 'hi' } } }`
    const [first, second] = [await load('modelyard.ts', text), await load('modelyard.ts', text)]
    expect(await answerOf(first)).toBe('hi')
    expect(configurationDifference(first, second)).toBeUndefined()
    const without = await load('modelyard.ts', 'export default { models: {} }')
    expect(configurationDifference(first, without)).toMatchObject({ removed: ['a'], settings: ['engines'] })
  })

  it.each([
    ['engines: ./none.ts', 'engines[0] must be a module with an engine; "./none.ts" cannot be run'],
    ['engines: [5]', 'engines[0] must be an engine, as defineEngine makes it, but it is a number'],
    ['engines: ./data.ts', 'but the default export of "./data.ts" is a map'],
    ['engines: ./broken.ts', '"./broken.ts" cannot be run: not today'],
    ['models: { a: { engine: echo } }', 'must be the name of an engine'],
  ])('%s is refused with its place', async (text, message) => {
    await writeFile(join(folder, 'data.ts'), 'export default { name: "x" }')
    await writeFile(join(folder, 'broken.ts'), 'throw new Error("not today")')
    await expect(load('modelyard.yaml', text)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(message) as string,
    })
    await expect(load('modelyard.yaml', text)).rejects.toThrow('modelyard.yaml:1:')
  })

  it('none may take the name of another', async () => {
    await writeFile(join(folder, 'echo.ts'), ENGINE.replace("'echo'", "'scripted'"))
    const configuration = await load('modelyard.yaml', 'engines: ./echo.ts')
    await expect(createYard({ configuration, home: false })).rejects.toMatchObject({
      code: 'config_invalid',
      message: 'There are two engines of the name "scripted"; give yours another one.',
    })
  })
})
