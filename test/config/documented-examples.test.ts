import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../src/config.ts'
import { removeFolder, temporaryFolder } from '../models/paths.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const PAGES = ['README.md', 'docs/configuration.md', 'docs/contexts.md']

const EXAMPLES = PAGES.flatMap((page) =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, text = ''], index) => [page, index + 1, text] as const,
  ),
)

describe('a configuration that the documents show', () => {
  it('is found, so that nothing here is green on nothing', () => {
    expect(new Set(EXAMPLES.map(([page]) => page))).toEqual(new Set(PAGES))
  })

  it.each(EXAMPLES)('is taken: %s, number %d', async (_page, _number, text) => {
    const folder = await temporaryFolder()
    const file = join(folder, 'modelyard.yaml')
    writeFileSync(file, text)
    // The variable that one of them has its key in.
    const environment = { HOME: folder, BIG_KEY: 'secret' }
    const loaded = loadConfiguration({ file, environment, workingDirectory: folder })
    await expect(loaded).resolves.toMatchObject({ models: expect.any(Array) as unknown })
    await removeFolder(folder)
  })
})
