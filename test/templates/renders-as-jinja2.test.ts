import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { TemplateProgram } from '../../src/templates/template-program.ts'

type Rendered = { text: string } | { refused: string } | { failed: string }

const FOLDER = join(import.meta.dirname, 'llama.cpp')
const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith('.jinja'))
const read = (name: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, name), 'utf8'))
const conversations = read('conversations.json') as Record<string, Record<string, unknown>>
const rendered = read('rendered.json') as Record<string, Record<string, Rendered>>

function ours(program: TemplateProgram, variables: Record<string, unknown>): Rendered {
  try {
    return { text: program.run(variables) }
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return code === 'invalid_request' ? { refused: message } : { failed: message }
  }
}

/** What `@huggingface/jinja` 0.5.11 lacks: on these conversations a template is refused with the interpreter's words. */
const GAPS: Record<string, { what: string; on: RegExp }> = {
  'ByteDance-Seed-OSS.jinja': { what: 'numbers as keys', on: /./ },
  'meetkai-functionary-medium-v3.1.jinja': { what: 'a filter on null, and escapes of HTML', on: /./ },
}

/** Whether a conversation was refused counts, not in which words; what cannot be run in Python may be run here. */
function comparable(outcome: Rendered, wanted: Rendered): string {
  if ('failed' in wanted) return 'anything'
  return 'text' in outcome ? outcome.text : Object.keys(outcome).join('')
}

beforeAll(() => vi.useFakeTimers({ now: new Date(2026, 10, 30) }))
afterAll(() => vi.useRealTimers())

describe("llama.cpp's templates render as they do in Python, to the byte", () => {
  it.each(NAMES)('%s', (name) => {
    const program = new TemplateProgram(readFileSync(join(FOLDER, name), 'utf8'))
    const gap = GAPS[name]?.on
    for (const [title, variables] of Object.entries(conversations)) {
      const wanted = rendered[name]?.[title] as Rendered
      const got = comparable(ours(program, variables), wanted)
      const isSame = gap?.test(title) !== true
      expect({ title, got, isSame: got === comparable(wanted, wanted) }).toEqual({
        title,
        got: isSame ? comparable(wanted, wanted) : got,
        isSame: isSame || 'failed' in wanted,
      })
    }
  })
})
