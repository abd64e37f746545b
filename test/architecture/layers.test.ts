import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { cruise, type ICruiseResult, type IModule } from 'dependency-cruiser'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** Each folder of `src/` and the folders it may import; everything may import itself. The table of ARCHITECTURE.md. */
const ALLOWED: Record<string, string[]> = {
  base: [],
  events: ['base'],
  tasks: ['base'],
  host: ['base', 'events'],
  templates: ['base', 'tasks'],
  grammar: ['base', 'tasks'],
  models: ['base', 'events', 'tasks', 'host', 'templates'],
  engines: ['base', 'events', 'tasks', 'host', 'templates', 'grammar', 'models'],
  pool: ['base', 'events', 'tasks', 'host', 'models', 'engines'],
  contexts: ['base', 'events', 'tasks', 'host', 'models', 'engines', 'pool'],
  runs: ['base', 'events', 'tasks', 'grammar', 'models', 'engines', 'pool', 'contexts'],
  store: ['base', 'events', 'tasks', 'host', 'models', 'pool', 'contexts', 'runs'],
  dialects: ['base', 'events', 'tasks', 'models', 'engines', 'pool', 'contexts', 'runs'],
  server: ['base', 'events', 'tasks', 'host', 'models', 'engines', 'pool', 'runs', 'dialects'],
  testing: ['base', 'events', 'tasks', 'host', 'models', 'engines', 'pool', 'runs', 'dialects', 'server'],
  config: ['base', 'tasks', 'host', 'models', 'engines', 'pool'],
}

/** Things that live in one place each: what may import or use them. */
const ONLY_IN: { what: RegExp; where: RegExp; why: string }[] = [
  { what: /from 'node:child_process'/, where: /^src\/host\//, why: 'processes are started in host/ alone' },
  { what: /from 'node:worker_threads'/, where: /^$/, why: 'worker threads cannot isolate an engine' },
  { what: /@photostructure\/sqlite|node:sqlite/, where: /^src\/store\//, why: 'SQL lives in store/ alone' },
  {
    what: /\b(setTimeout|setInterval|setImmediate)\(|node:timers/,
    where: /^src\/base\/clock\.ts$/,
    why: 'timers live in base/clock.ts alone',
  },
  {
    what: /\bprocess\.(env|argv|exit)\b/,
    where: /^src\/(cli\/|config\.ts|engines\/worker\/main\.ts|host\/)/,
    why: 'the environment is read at the edges alone',
  },
  {
    what: /import\('node-llama-cpp'\)|from 'node-llama-cpp'/,
    where: /^src\/engines\/node-llama-cpp\//,
    why: 'an engine package is reached from its own folder alone',
  },
]

/** Rooms below the engines that belong to several of them. */
const SHARED_BY_ENGINES = /^src\/engines\/(in-process|llama-cpp|supervision)\//

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
}

function roomOf(path: string): string {
  const [, room, rest] = path.split('/')
  return rest === undefined || room === undefined ? '.' : room
}

describe('architecture', () => {
  let modules: IModule[] = []
  beforeAll(async () => {
    const { output } = await cruise(['src'], {
      baseDir: ROOT,
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      ruleSet: { forbidden: [{ name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } }] },
    })
    modules = (output as ICruiseResult).modules.filter((module) => module.source.startsWith('src/'))
  })

  it('sees every source file, so that it cannot be green on nothing', () => {
    const seen = new Set(modules.map((module) => module.source))
    expect(sourceFiles(join(ROOT, 'src')).filter((file) => !seen.has(file))).toEqual([])
  })

  it('lets imports go up the list of layers only', () => {
    const foreign = modules.flatMap((module) => {
      const allowed = ALLOWED[roomOf(module.source)]
      if (allowed === undefined || module.source.endsWith('.test.ts')) return []
      return module.dependencies
        .filter(({ resolved }) => resolved.startsWith('src/'))
        .filter(({ resolved }) => ![roomOf(module.source), ...allowed].includes(roomOf(resolved)))
        .map(({ resolved }) => `${module.source} → ${resolved}`)
    })
    expect(foreign).toEqual([])
  })

  it('knows every folder', () => {
    const rooms = new Set(modules.map((module) => roomOf(module.source)))
    expect([...rooms].filter((room) => !['.', 'cli', ...Object.keys(ALLOWED)].includes(room))).toEqual([])
  })

  it('has no import cycle, type imports included', () => {
    const cycles = modules.flatMap((module) =>
      module.dependencies
        .filter((dependency) => dependency.circular)
        .map(({ resolved }) => `${module.source} → ${resolved}`),
    )
    expect(cycles).toEqual([])
  })

  it('keeps engines apart from each other, but for what they share, and the pool from all but the contract', () => {
    const foreign = modules.flatMap((module) =>
      module.dependencies
        .filter(({ resolved }) => resolved.startsWith('src/engines/') && resolved !== 'src/engines/engine.ts')
        .filter(({ resolved }) => {
          if (module.source.startsWith('src/pool/')) return true
          // What all engines share lies beside their folders.
          if (!/^src\/engines\/[^/]+\//.test(resolved)) return false
          const own = /^src\/engines\/[^/]+\//.exec(module.source)?.[0]
          return own !== undefined && !resolved.startsWith(own) && !SHARED_BY_ENGINES.test(resolved)
        })
        .map(({ resolved }) => `${module.source} → ${resolved}`),
    )
    expect(foreign.filter((arrow) => !arrow.startsWith('src/engines/worker/main.ts'))).toEqual([])
  })

  it('keeps the policy pure: no node modules, no async, no clock', () => {
    const policy = modules.filter(
      ({ source }) => source.startsWith('src/pool/policy/') && !source.endsWith('.test.ts'),
    )
    const impure = policy.filter(
      ({ source, dependencies }) =>
        dependencies.some(({ coreModule }) => coreModule) ||
        /\basync\b|\bDate\b|\bPromise\b|Math\.random|performance\./.test(
          readFileSync(join(ROOT, source), 'utf8'),
        ),
    )
    expect(policy.length).toBeGreaterThan(0)
    expect(impure.map(({ source }) => source)).toEqual([])
  })

  it.each(ONLY_IN)('$why', ({ what, where }) => {
    const breaches = sourceFiles(join(ROOT, 'src'))
      .filter((file) => !file.endsWith('.test.ts') && !where.test(file))
      .filter((file) =>
        what.test(readFileSync(join(ROOT, file), 'utf8').replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '')),
      )
    expect(breaches).toEqual([])
  })
})
