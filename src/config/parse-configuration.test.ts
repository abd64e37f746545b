import { describe, expect, it } from 'vitest'
import { number } from '../base/scalar-shapes.ts'
import { ModelyardError } from '../base/errors.ts'
import { yardDirectories } from './directories.ts'
import { parseConfiguration } from './parse-configuration.ts'
import type { ParseOptions } from './parse-options.ts'
import type { YardConfiguration } from './yard-configuration.ts'

const directories = yardDirectories({ MODELYARD_HOME: '/yard' }, '/')
const parse = (input: unknown, options: Partial<ParseOptions> = {}): YardConfiguration =>
  parseConfiguration(input, { directories, directory: '/work', ...options })

function complaint(input: unknown, options: Partial<ParseOptions> = {}): string {
  try {
    parse(input, options)
  } catch (error) {
    if (error instanceof ModelyardError && error.code === 'config_invalid') return error.message
    throw error
  }
  return 'accepted'
}

describe('parseConfiguration', () => {
  it('keeps entries for all models of an endpoint apart, and lets entries below them say what differs', () => {
    const lab = { engine: 'upstream', url: 'http://x/v1', slots: 8 }
    const { models, wildcards } = parse({
      models: { 'lab/*': lab, 'lab/org/*': { ...lab, slots: 9 }, 'lab/org/a': { aliases: 'a' }, 'lab/b': {} },
    })
    expect(wildcards?.map(({ id }) => id)).toEqual(['lab/*', 'lab/org/*'])
    expect(models.map(({ id, slots, engineOptions }) => [id, slots, engineOptions['remoteModel']])).toEqual([
      ['lab/org/a', 9, 'a'],
      ['lab/b', 8, 'b'],
    ])
    expect(complaint({ models: { 'a*b': lab } })).toContain('is not a valid name')
    expect(complaint({ models: { '../*': lab } })).toContain('is not a valid name')
    expect(complaint({ models: { 'lab/*': { ...lab, minInstances: 1 } } })).toContain("is one model's")
    expect(complaint({ models: { 'lab/*': {} } })).toContain('only "upstream" can list')
  })

  it('fills in the defaults of the design where nothing is said', () => {
    expect(parse({})).toEqual({
      directories: {
        home: '/yard',
        config: '/yard',
        models: '/yard/models',
        engines: '/yard/engines',
        contexts: '/yard/contexts',
        logs: '/yard/logs',
        slots: '/yard/slots',
        workers: '/yard/workers',
        database: '/yard/modelyard.db',
      },
      memory: { budget: {}, absolute: {}, grace: 10_000, maxLargeModels: 3, smallModel: 1024 ** 3 },
      cpu: { oversubscribe: false },
      gpu: { exclusive: false },
      limits: { concurrency: 64, queue: 512, queuePerModel: 128 },
      swap: { patience: 5000, spareWorkers: 0 },
      drain: { timeout: 120_000 },
      contexts: { parking: 'worth' },
      downloads: {},
      server: {
        host: '127.0.0.1',
        port: 11_435,
        keys: { inference: [], admin: [] },
        cors: {},
        allowedHosts: [],
        bodyLimit: 64 * 1024 ** 2,
        log: false,
      },
      models: [],
      keepAlive: 300_000,
      preload: [],
    })
    expect(parse(undefined)).toEqual(parse({}))
    expect(parse(null)).toEqual(parse({}))
  })

  it('fills in the defaults of a model', () => {
    expect(parse({ models: { smollm2: null } }).models).toEqual([
      {
        id: 'smollm2',
        source: 'smollm2',
        slots: 4,
        minInstances: 0,
        maxInstances: 1,
        keepAlive: 300_000,
        pinned: false,
        prepare: 'on-demand',
        isolation: 'worker',
        device: { gpu: 'auto', memoryLock: false },
        aliases: [],
        defaults: {},
        engineOptions: {},
      },
    ])
  })

  it('reads every option of a model', () => {
    const [model] = parse({
      models: {
        'org/name:Q4_K-M.1': {
          source: 'hf:org/repo',
          engine: 'node-llama-cpp',
          context: 4096,
          slots: 2,
          minInstances: 2,
          keepAlive: '1h',
          pinned: 'soft',
          prepare: 'background',
          isolation: 'none',
          device: { gpu: 'vulkan', gpuLayers: 0, threads: 3, memoryLock: true },
          aliases: 'short',
          defaults: { temperature: 0, seed: 0, maxTokens: 0, topK: 0 },
          system: '',
        },
      },
    }).models
    expect(model).toEqual({
      id: 'org/name:Q4_K-M.1',
      source: 'hf:org/repo',
      engine: 'node-llama-cpp',
      context: 4096,
      slots: 2,
      minInstances: 2,
      maxInstances: 2,
      keepAlive: 3_600_000,
      pinned: 'soft',
      prepare: 'background',
      isolation: 'none',
      device: { gpu: 'vulkan', gpuLayers: 0, threads: 3, memoryLock: true },
      aliases: ['short'],
      defaults: { temperature: 0, seed: 0, maxTokens: 0, topK: 0 },
      system: '',
      engineOptions: {},
    })
  })

  it('takes a text for the source of a model', () => {
    expect(parse({ models: { a: 'hf:org/repo:Q4_K_M' } }).models[0]?.source).toBe('hf:org/repo:Q4_K_M')
  })

  it.each([
    ['./a.gguf', '/work/a.gguf'],
    ['../a.gguf', '/a.gguf'],
    ['a.gguf', '/work/a.gguf'],
    ['models/a', '/work/models/a'],
    ['/x/a.gguf', '/x/a.gguf'],
    ['smollm2', 'smollm2'],
    ['hf:org/repo/file.gguf', 'hf:org/repo/file.gguf'],
    ['https://example.com/a.gguf', 'https://example.com/a.gguf'],
    ['pip:package/file.gguf', 'pip:package/file.gguf'],
  ])('reads the source %s as %s', (written, source) => {
    expect(parse({ models: { a: { source: written } } }).models[0]?.source).toBe(source)
  })

  it('makes a file absolute and knows no source for an engine without weights', () => {
    expect(parse({ models: { a: { file: 'a.gguf' } } }).models[0]?.source).toBe('/work/a.gguf')
    expect(parse({ models: { a: { engine: 'scripted' } } }).models[0]).not.toHaveProperty('source')
  })

  it('reads the options of the scripted engine among the others, and runs it in-process', () => {
    const script = [{ match: '.*', text: ['Hel', 'lo'], delay: 30 }]
    const input = {
      models: { fake: { engine: 'scripted', memory: '1GiB', loadTime: 400, slots: 1, script } },
    }
    expect(parse(input).models[0]).toMatchObject({
      slots: 1,
      isolation: 'none',
      engineOptions: { memory: { ram: 1024 ** 3 }, loadTime: 400, script },
    })
  })

  it('finds a script beside the file that names it', () => {
    const input = { models: { fake: { engine: 'scripted', script: './answers.yaml' } } }
    expect(parse(input).models[0]?.engineOptions).toEqual({ script: '/work/answers.yaml' })
  })

  it.each<[string, unknown, string]>([
    ['an unknown part', { model: {} }, 'configuration: model is not an option; did you mean "models"?'],
    [
      'a mistyped option (P1)',
      { models: { a: { keepAlvie: 5 } } },
      'models.a.keepAlvie is not an option; did you mean "keepAlive"?',
    ],
    ['an option of another engine', { models: { a: { loadTime: 5 } } }, 'models.a.loadTime is not an option'],
    [
      'a mistyped option of an engine',
      { models: { a: { engine: 'scripted', lodTime: 5 } } },
      'did you mean "loadTime"?',
    ],
    ['a mistyped engine', { models: { a: { engine: 'skripted' } } }, 'did you mean "scripted"?'],
    [
      'an engine with an object’s own name',
      { models: { a: { engine: 'constructor' } } },
      'models.a.engine must be the name of an engine',
    ],
    [
      'a minimum above the maximum (P2)',
      { models: { a: { minInstances: 3, maxInstances: 2 } } },
      'models.a.minInstances must not be above maxInstances: 3 > 2',
    ],
    [
      'no instances at all',
      { models: { a: { maxInstances: 0 } } },
      'models.a.maxInstances must be a whole number from 1',
    ],
    ['source and file', { models: { a: { source: 'x', file: 'y' } } }, 'models.a.file stands for "source"'],
    [
      'a wrong size',
      { memory: { budget: '6 elephants' } },
      'memory.budget is wrong: "6 elephants" is not a size',
    ],
    ['more than everything', { memory: { budget: '120%' } }, 'memory.budget must not be more than 100%'],
    ['an unknown domain', { memory: { budget: { vram: 1 } } }, 'memory.budget.vram is not a valid name'],
    [
      'a wrong duration',
      { models: { a: { keepAlive: 'soon' } } },
      'models.a.keepAlive is wrong: "soon" is not a duration',
    ],
    ['an endless drain', { drain: { timeout: -1 } }, 'drain.timeout is wrong'],
    [
      'a port out of range',
      { server: { port: 70_000 } },
      'server.port must be a whole number from 0 to 65535, not 70000',
    ],
    [
      'a temperature below zero',
      { models: { a: { defaults: { temperature: -1 } } } },
      'models.a.defaults.temperature must be a number of at least 0, not -1',
    ],
    ['a list for a map', { models: [] }, 'models must be a map, not a list'],
    [
      'a number for a model',
      { models: { a: 5 } },
      'models.a must be a map of options, or a text with its source, not a number',
    ],
    ['a text for everything', 'models', 'configuration: must be a map of options, not text'],
    [
      'a wrong script',
      { models: { a: { engine: 'scripted', script: [{ delay: -1 }] } } },
      'models.a.script[0].delay must be a number of at least 0',
    ],
  ])('refuses %s', (_, input, words) => {
    expect(complaint(input)).toContain(words)
  })

  it.each(['a b', 'ä', 'a//b', '/a', 'a/', '..', 'a/../b', './a', 'a?b', ''])(
    'refuses the id "%s" (P1)',
    (id) => {
      expect(complaint({ models: { [id]: {} } })).toContain(
        'is not a valid name: letters, digits and _ - . : /',
      )
    },
  )

  it.each(['a', 'A_-.:9', 'org/name:tag', 'a.b/c..d', '...x', '__proto__'])(
    'takes the id "%s" (P1)',
    (id) => {
      const input = JSON.parse(`{"models": {${JSON.stringify(id)}: {"source": "smollm2"}}}`) as unknown
      expect(parse(input).models.map((model) => model.id)).toEqual([id])
    },
  )

  it('gives every name to one model only', () => {
    const wrong = {
      models: {
        a: { source: 'smollm2', aliases: ['x', 'b'] },
        b: 'smollm2',
        c: { source: 'smollm2', aliases: ['x'] },
        d: { source: 'smollm2', aliases: ['y', 'y'] },
      },
    }
    expect(complaint(wrong).split('\n')).toEqual([
      'configuration: models.a.aliases[1] is a name of model "b" already; every name may stand for one model only',
      'configuration: models.c.aliases[0] is a name of model "a" already; every name may stand for one model only',
      'configuration: models.d.aliases[1] is a name of model "d" already; every name may stand for one model only',
    ])
  })

  it('reads budgets as bytes, as a share, and per domain', () => {
    expect(parse({ memory: { budget: '6GiB' } }).memory.budget).toEqual({ ram: { bytes: 6 * 1024 ** 3 } })
    expect(parse({ memory: { budget: 0 } }).memory.budget).toEqual({ ram: { bytes: 0 } })
    const perDomain = { ram: '50%', 'gpu:0': '2GiB' }
    expect(parse({ memory: { budget: perDomain } }).memory.budget).toEqual({
      ram: { percent: 50 },
      'gpu:0': { bytes: 2 * 1024 ** 3 },
    })
  })

  it('keeps keys for everything, or for inference and control apart, and never shows one', () => {
    expect(parse({ server: { keys: 'secret' } }).server.keys).toEqual({ inference: ['secret'], admin: [] })
    expect(parse({ server: { keys: { admin: ['x', 'y'] } } }).server.keys).toEqual({
      inference: [],
      admin: ['x', 'y'],
    })
    expect(complaint({ server: { keys: [12_345] } })).toContain('put it in quotes')
    expect(complaint({ server: { keys: [12_345] } })).not.toContain('12')
    expect(complaint({ server: { keys: ['my secret'] } })).not.toContain('secret')
  })

  it('gives the keepAlive of all models to those that do not say (M13)', () => {
    const { models } = parse({ keepAlive: 0, models: { minilm: {}, smollm2: { keepAlive: -1 } } })
    expect(models.map((model) => model.keepAlive)).toEqual([0, -1])
  })

  it('checks options of engines that others bring, or leaves them to the engine', () => {
    const input = { models: { a: { engine: 'mine', speed: 3 } } }
    expect(complaint(input)).toContain('must be the name of an engine')
    const checked = { engines: { mine: { speed: number() } } }
    expect(parse(input, checked).models[0]?.engineOptions).toEqual({ speed: 3 })
    expect(complaint({ models: { a: { engine: 'mine', sped: 3 } } }, checked)).toContain(
      'did you mean "speed"?',
    )
    const unchecked = { engines: { mine: 'unchecked' } } as const
    expect(
      parse({ models: { a: { engine: 'mine', any: [1] } } }, unchecked).models[0]?.engineOptions,
    ).toEqual({ any: [1] })
  })

  it('a model without a source that is no name of the catalog is refused at the start', () => {
    const words = 'models.a needs a source (or a file): the catalog has no "a", only smollm2, minilm,'
    expect(complaint({ models: { a: {} } })).toContain(words)
    expect(complaint({ models: { a: { engine: 'node-llama-cpp', slots: 2 } } })).toContain(words)
    expect(parse({ models: { smollm2: { engine: 'node-llama-cpp' } } }).models[0]?.source).toBe('smollm2')
  })

  it('slots and contexts that no instance can hold are refused with the key that is wrong', () => {
    const file = './x.gguf'
    expect(complaint({ models: { a: { file, slots: 257 } } })).toContain(
      'models.a.slots must not be above 256, not 257',
    )
    expect(complaint({ models: { a: { file, slots: 4, context: 2 ** 27 } } })).toContain(
      'models.a.context must not be above 33554432 with 4 slots, not 134217728',
    )
  })

  it('a script whose match is no regular expression is refused with its place', () => {
    expect(
      complaint({ models: { a: { engine: 'scripted', script: [{ match: '.*' }, { match: '(' }] } } }),
    ).toContain('models.a.script[1].match is not a regular expression')
  })

  it('lets a file say where its schema is', () => {
    expect(parse({ $schema: './modelyard.schema.json' })).toEqual(parse({}))
  })

  it('moves single folders', () => {
    expect(parse({ directories: { models: 'weights' } }).directories).toEqual({
      ...directories,
      models: '/work/weights',
    })
  })
})
