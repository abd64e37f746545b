import { describe, expect, it } from 'vitest'
import type { ConfigurationLayers } from './configuration-layers.ts'
import { yardDirectories } from './directories.ts'
import { findSetting, layeredConfiguration } from './layered-configuration.ts'

const directories = yardDirectories({ MODELYARD_HOME: '/yard' }, '/')

function layers(parts: Partial<ConfigurationLayers> = {}): ConfigurationLayers {
  return { file: {}, environment: {}, commandLine: {}, parsing: { directories, directory: '/' }, ...parts }
}

const KEY = 'limits.runTimeout'

describe('M2: command line > environment > settings > file > default', () => {
  const file = { limits: { runTimeout: 1 } }
  const settings = { [KEY]: 2 }
  const environment = { limits: { runTimeout: 3 } }
  const commandLine = { limits: { runTimeout: 4 } }

  it.each([
    ['default', layers(), {}, undefined, undefined],
    ['file', layers({ file }), {}, 1, 1000],
    ['settings', layers({ file }), settings, 2, 2000],
    ['environment', layers({ file, environment }), settings, 3, 3000],
    ['command-line', layers({ file, environment, commandLine }), settings, 4, 4000],
  ])('%s', (origin, given, stored, value, milliseconds) => {
    expect(findSetting(given, stored, KEY)).toEqual({ origin, value })
    expect(layeredConfiguration(given, stored).limits.runTimeout).toBe(milliseconds)
  })

  it('zero is a value, null is none', () => {
    expect(findSetting(layers({ file }), { [KEY]: 0 }, KEY)).toEqual({ origin: 'settings', value: 0 })
    expect(findSetting(layers({ file: { limits: { runTimeout: null } } }), {}, KEY).origin).toBe('default')
  })
})

describe('options of single models (M20)', () => {
  const file = { models: { 'a.b/c:1': './x.gguf', other: { file: './y.gguf', pinned: true } } }

  it('are laid over a model that was written as its source alone; ids may have dots', () => {
    const { models } = layeredConfiguration(layers({ file }), { 'models.a.b/c:1.pinned': 'soft' })
    expect(models[0]).toMatchObject({ id: 'a.b/c:1', source: '/x.gguf', pinned: 'soft' })
  })

  it('win over what the file says of the same option and leave the others', () => {
    const { models } = layeredConfiguration(layers({ file }), { 'models.other.keepAlive': 0 })
    expect(models[1]).toMatchObject({ source: '/y.gguf', pinned: true, keepAlive: 0 })
  })

  it('a model called __proto__ stays a model', () => {
    const { models } = layeredConfiguration(layers(), { 'models.__proto__.source': './z.gguf' })
    expect(models.map(({ id }) => id)).toEqual(['__proto__'])
  })
})

it('what makes no sense together is refused with the place', () => {
  const given = layers({ file: { memory: { absolute: '2GiB' } } })
  expect(() => layeredConfiguration(given, { 'memory.budget': '3GiB' })).toThrow(
    'memory.absolute must not be below the budget of ram: 2 GiB < 3 GiB',
  )
})
