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

/** Whether a conversation was refused counts, not in which words; what cannot be run in Python may be run here. */
function comparable(outcome: Rendered): string {
  return 'text' in outcome ? outcome.text : Object.keys(outcome).join('')
}

beforeAll(() => vi.useFakeTimers({ now: new Date(2026, 10, 30) }))
afterAll(() => vi.useRealTimers())

describe("llama.cpp's templates render as they do in Python, to the byte", () => {
  it.each(NAMES)('%s', (name) => {
    const program = new TemplateProgram(readFileSync(join(FOLDER, name), 'utf8'))
    for (const [title, variables] of Object.entries(conversations)) {
      const wanted = rendered[name]?.[title] as Rendered
      const got = comparable(ours(program, variables))
      const asPython = 'failed' in wanted ? got : comparable(wanted)
      expect({ title, got }).toEqual({ title, got: asPython })
    }
  })
})
