import { describe, expect, it } from 'vitest'

/** Plain Node, to run where nothing is installed: without types. */
interface InstallationNewsModule {
  InstallationNews: new (total: number) => { take(line: string): boolean; words(): string }
  packagesToFetch: (lock: object, machine: { os: string; cpu: string; libc: string | undefined }) => number
}

const program = new URL('../../scripts/installation-news.mjs', import.meta.url).href
const { InstallationNews, packagesToFetch } = (await import(program)) as InstallationNewsModule

const REGISTRY = 'http://127.0.0.1:4873'
const asked = (name: string): string => `npm http fetch GET 200 ${REGISTRY}/${name} 20ms (cache updated)`
const fetched = (name: string): string =>
  `npm http fetch GET 200 ${REGISTRY}/${name}/-/${name}-1.0.0.tgz 20ms (cache updated)`
const cached = (name: string): string =>
  `npm http cache ${name}@${REGISTRY}/${name}/-/${name}-1.0.0.tgz 0ms (cache hit)`

describe('news of an installation', () => {
  it('counts packages whose files are here, from the net or from npm’s cache, not questions about them', () => {
    const news = new InstallationNews(3)
    expect(news.words()).toBe('0 packages looked up')
    for (const name of ['a', 'b', 'c']) expect(news.take(asked(name))).toBe(true)
    expect(news.words()).toBe('3 packages looked up')
    expect(news.take(fetched('a'))).toBe(true)
    expect(news.words()).toBe('fetched 1 of 3 packages')
    expect(news.take(cached('b'))).toBe(true)
    expect(news.words()).toBe('fetched 2 of 3 packages')
  })

  it('counts a package once, however often npm takes it', () => {
    const news = new InstallationNews(2)
    for (const line of [fetched('a'), cached('a'), fetched('a')]) news.take(line)
    expect(news.words()).toBe('fetched 1 of 2 packages')
  })

  it('says that packages are linked once all are here', () => {
    const news = new InstallationNews(2)
    for (const name of ['a', 'b']) news.take(fetched(name))
    expect(news.words()).toBe('linking 2 packages')
    news.take(fetched('c'))
    expect(news.words()).toBe('linking 2 packages')
  })

  it('leaves all other lines to the reader', () => {
    const news = new InstallationNews(1)
    for (const line of ['npm warn deprecated a@1.0.0: gone', 'npm error code E404', 'added 3 packages in 2s'])
      expect(news.take(line)).toBe(false)
    expect(news.words()).toBe('0 packages looked up')
  })
})

describe('packages to be fetched', () => {
  const linux = { os: 'linux', cpu: 'x64', libc: 'glibc' }
  const mac = { os: 'darwin', cpu: 'arm64', libc: undefined }
  const needs = (...names: string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, '*']))

  it('are those for this machine', () => {
    const packages = {
      '': { devDependencies: needs('any', 'beside'), optionalDependencies: needs('arm', 'mac') },
      'node_modules/any': { version: '1.0.0', optionalDependencies: needs('@scope/linux', 'musl', 'glibc') },
      'node_modules/@scope/linux': { version: '1.0.0', os: ['linux'], cpu: ['x64'] },
      'node_modules/arm': { version: '1.0.0', os: ['linux'], cpu: ['arm64'] },
      'node_modules/mac': { version: '1.0.0', os: ['darwin'] },
      'node_modules/musl': { version: '1.0.0', os: ['linux'], libc: ['musl'] },
      'node_modules/glibc': { version: '1.0.0', os: ['linux'], libc: ['glibc'] },
      'node_modules/beside': { resolved: '../beside', link: true },
    }
    expect(packagesToFetch({ packages }, linux)).toBe(3)
    expect(packagesToFetch({ packages }, mac)).toBe(2)
  })

  it('are not those that only a package for other machines needs', () => {
    const packages = {
      '': { dependencies: needs('mac', 'shared') },
      'node_modules/mac': { version: '1.0.0', os: ['darwin'], dependencies: needs('shared', 'its-own') },
      'node_modules/its-own': { version: '1.0.0' },
      'node_modules/shared': { version: '1.0.0' },
    }
    expect(packagesToFetch({ packages }, linux)).toBe(1)
    expect(packagesToFetch({ packages }, mac)).toBe(3)
  })

  it('are counted once for each version, in however many folders, and a circle of needs ends', () => {
    const packages = {
      '': { dependencies: needs('a', 'b', 'c', 'another-name', 'not-there') },
      'node_modules/a': { version: '1.0.0', peerDependencies: needs('b') },
      'node_modules/b': { version: '1.0.0', dependencies: needs('a') },
      'node_modules/c': { version: '1.0.0', dependencies: needs('a') },
      'node_modules/c/node_modules/a': { version: '2.0.0', dependencies: needs('b') },
      'node_modules/another-name': { name: 'a', version: '2.0.0' },
    }
    expect(packagesToFetch({ packages }, linux)).toBe(4)
  })

  it('are none where nothing is needed', () => {
    expect(packagesToFetch({ packages: { '': {} } }, linux)).toBe(0)
  })
})
