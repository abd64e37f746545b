import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Message, Tool } from '../../src/tasks/message.ts'
import type { Part } from '../../src/tasks/part.ts'
import { AnswerParser } from '../../src/templates/answer/answer-parser.ts'
import { ChatTemplate } from '../../src/templates/chat-template.ts'

const FOLDER = join(import.meta.dirname, 'llama.cpp')
const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith('.jinja'))

const TOOLS: Tool[] = [
  {
    name: 'get_weather',
    description: 'Get the weather of a city',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Name' },
        days: { type: 'integer', description: 'How many' },
      },
      required: ['city'],
    },
  },
]

const CALLS = [
  { id: 'call00001', name: 'get_weather', arguments: '{"city": "Rome", "days": 3}' },
  { id: 'call00002', name: 'get_weather', arguments: '{"city": "Oslo \\"north\\"", "days": 0}' },
]

function templateOf(name: string): ChatTemplate {
  const source = readFileSync(join(FOLDER, name), 'utf8')
  return new ChatTemplate({ source, controlTexts: [], bosToken: '', eosToken: '' })
}

/** What the template writes for the calls, after everything else; where a call has no marker, without the turn's head. */
function written(template: ChatTemplate, calls: typeof CALLS): string {
  const asked: Message = { role: 'user', content: 'QUESTION' }
  const turn: Message = { role: 'assistant', content: '', toolCalls: calls }
  const shown = template.render({ messages: [asked, turn], tools: TOOLS }).join('')
  // Some leave out an answer that nobody has replied to.
  const replied: Message[] = [asked, turn, { role: 'user', content: 'Go on' }]
  const text =
    shown.includes('Oslo') || calls.length === 1
      ? shown
      : template.render({ messages: replied, tools: TOOLS }).join('')
  const tail = text.slice(text.lastIndexOf('QUESTION') + 8)
  return template.toolUse.format.family === 'llama-3' ? tail.slice(tail.indexOf('{')) : tail
}

function read(template: ChatTemplate, text: string, size: number): { name: string; given: unknown }[] {
  const { format } = template.toolUse
  const { reasoning } = template
  const parser = new AnswerParser({
    calls: { format, tools: TOOLS, parallel: true },
    ...(reasoning !== undefined && { reasoning }),
    startsInReasoning: false,
  })
  const parts: Part[] = []
  for (let at = 0; at < text.length; at += size) parts.push(...parser.write(text.slice(at, at + size)))
  parts.push(...parser.end())
  return callsOf(parts)
}

function callsOf(parts: readonly Part[]): { name: string; given: unknown }[] {
  const calls: { name: string; text: string }[] = []
  for (const part of parts) {
    if (part.type === 'tool-call') calls[part.index] = { name: part.name, text: '' }
    if (part.type === 'tool-call-arguments') (calls[part.index] as { text: string }).text += part.text
  }
  return calls.map(({ name, text }) => ({ name, given: parsed(text) }))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** Their templates refuse or lose a second call: turns with several become turns of one. */
const ONE_CALL = new Set([
  'GigaChat3-10B-A1.8B.jinja',
  'GigaChat3.1-10B-A1.8B.jinja',
  'meta-llama-Llama-3.1-8B-Instruct.jinja',
  'meta-llama-Llama-3.2-3B-Instruct.jinja',
  'meta-llama-Llama-3.3-70B-Instruct.jinja',
  'openai-gpt-oss-120b.jinja',
])

describe('history → prompt → calls: what a template writes for calls is read back as these calls', () => {
  const readBack = (name: string): { wanted: unknown; got: unknown[] } => {
    const template = templateOf(name)
    const calls = ONE_CALL.has(name) ? CALLS.slice(0, 1) : CALLS
    const text = written(template, calls)
    const wanted = calls.map((call) => ({ name: call.name, given: JSON.parse(call.arguments) as unknown }))
    return { wanted, got: [1, 3, 1000].map((size) => read(template, text, size)) }
  }
  it.each(NAMES)('%s', (name) => {
    const { wanted, got } = readBack(name)
    expect(got).toEqual([wanted, wanted, wanted])
  })

  it.each([...ONE_CALL])('%s: several calls of one turn become turns of one call', (name) => {
    const template = templateOf(name)
    const results = CALLS.map(({ id }): Message => ({
      role: 'tool',
      toolCallId: id,
      content: `result of ${id}`,
    }))
    const messages: Message[] = [
      { role: 'user', content: 'Q' },
      { role: 'assistant', content: '', toolCalls: CALLS },
      ...results,
    ]
    const text = template.render({ messages, tools: TOOLS }).join('')
    expect(text).toMatch(/Rome.*result of call00001.*Oslo.*result of call00002/s)
  })
})
