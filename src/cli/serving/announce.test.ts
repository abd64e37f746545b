import { describe, expect, it } from 'vitest'
import { yardDirectories } from '../../config/directories.ts'
import { parseConfiguration } from '../../config/parse-configuration.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { createDesk } from '../test-desk.ts'
import { reachable } from '../reachable-address.ts'
import { curlLine, describeModels, warnWhenOpen } from './announce.ts'

function configuration(server: object): YardConfiguration {
  const directories = yardDirectories({ MODELYARD_HOME: '/nowhere' }, '/')
  return parseConfiguration({ server }, { directories, directory: '/' })
}

async function warning(server: object): Promise<string> {
  const { context, err } = createDesk()
  await warnWhenOpen(context, configuration(server))
  return err()
}

describe('a server that others can reach without a key (BR-46)', () => {
  it.each(['0.0.0.0', '::', '192.168.1.2', 'workstation'])('is warned of loudly on %s', async (host) => {
    expect(await warning({ host })).toMatch(/^WARNING: .*without an API key[\s\S]*server\.keys/)
  })

  it.each([
    { host: '127.0.0.1' },
    { host: '127.0.0.2' },
    { host: '::1' },
    { host: 'localhost' },
    { host: '0.0.0.0', keys: ['secret'] },
    { host: '0.0.0.0', keys: { admin: 'secret' } },
  ])('is not warned of with %j', async (server) => {
    expect(await warning(server)).toBe('')
  })
})

describe('the list of models at the start', () => {
  it('says which one is missing and which two are one file', () => {
    const models = [
      { id: 'a', state: 'unloaded' },
      { id: 'b', state: 'unloaded', sameFileAs: 'a' },
      { id: 'c', state: 'missing' },
    ]
    expect(describeModels(models)).toBe('a, b (the same file as a), c (missing)')
  })
})

describe('the line to paste', () => {
  it('names an address that can be called, and never shows a key', () => {
    expect(curlLine('http://0.0.0.0:80', 'm', true)).toMatch(
      /^curl http:\/\/127\.0\.0\.1:80\/v1\/chat\/completions -H "authorization: Bearer \$MODELYARD_API_KEY" .* -d '\{"model":"m"/,
    )
    expect(curlLine('http://127.0.0.1:80', 'm', false)).not.toContain('authorization')
    expect(reachable('http://[::]:80')).toBe('http://[::1]:80')
  })
})
