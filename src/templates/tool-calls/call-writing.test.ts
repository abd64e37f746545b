import { describe, expect, it } from 'vitest'
import type { Part } from '../../tasks/part.ts'
import { AnswerParser } from '../answer/answer-parser.ts'
import { callWriting } from './call-writing.ts'
import { GENERIC_FORMAT, TOOL_CALL_FORMATS } from './tool-call-formats.ts'

/** What a prompt ends with in this family: it is part of the first mark. */
const OPENED: Record<string, string> = { 'functionary-v3.2': '>>>' }

function read(parts: readonly Part[]): string[] {
  const calls: string[] = []
  for (const part of parts) {
    if (part.type === 'tool-call') calls.push(part.name)
    else if (part.type === 'tool-call-arguments') calls[part.index] += part.text
    else if (part.type === 'text') calls.push(`text: ${part.text}`)
  }
  return calls
}

describe('calls that a model is made to write', () => {
  it.each([...TOOL_CALL_FORMATS, GENERIC_FORMAT])('E2: are read back: $family', (format) => {
    const { first, middle, next, last } = callWriting(format)
    const text = `${first}look${middle}{"at": "it"}${next}see${middle}{}${last}`
    const tools = ['look', 'see'].map((name) => ({ name, parameters: {} }))
    const parser = new AnswerParser({ calls: { format, tools, parallel: true }, startsInReasoning: false })
    const parts = [...parser.write(OPENED[format.family] ?? ''), ...parser.write(text), ...parser.end()]
    expect(read(parts)).toEqual(['look{"at": "it"}', 'see{}'])
  })
})
