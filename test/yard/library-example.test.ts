import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { runInThisContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Yard } from '../../src/yard.ts'
import { ownYards } from './harness.ts'

const PAGE = join(resolve(import.meta.dirname, '../..'), 'docs/library.md')
const test = ownYards()

type Example = (yard: Yard, console: { log: (text: string) => void }) => Promise<void>

/** The first piece of code under a heading of the page, as a function. */
function exampleUnder(heading: string): Example {
  const page = readFileSync(PAGE, 'utf8')
  const [, after = ''] = page.split(`\n## ${heading}\n`)
  const [, code = ''] = /```js\n([^]*?)```/.exec(after) ?? []
  return runInThisContext(`(async (yard, console) => {${code}})`) as Example
}

describe('the examples of docs/library.md', () => {
  it('E3: tools with handlers', async () => {
    const yard = await test.open({
      models: {
        qwen3: {
          engine: 'scripted',
          isolation: 'none',
          script: [
            {
              match: 'Rome',
              after: 'user',
              toolCalls: [{ name: 'get_weather', arguments: { city: 'Rome' } }],
            },
            { after: 'tool', echo: 'prompt' },
          ],
        },
      },
    })
    const lines: string[] = []
    await exampleUnder('Tools')(yard, { log: (text) => lines.push(text) })
    expect(lines.join('\n')).toContain('sunny')
    expect(lines.at(-1)).toBe('assistant, tool, assistant')
  })
})
