import assert from 'node:assert/strict'
import type { ChatTask, OutputFormat } from '../../tasks/chat-task.ts'
import type { Tool } from '../../tasks/message.ts'
import type { ContractBench, WholeRun } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'

const CITIES = ['Rome', 'Oslo']
const WEATHER: Tool = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { enum: CITIES } },
    required: ['city'],
    additionalProperties: false,
  },
}
const MANY: Tool[] = Array.from({ length: 8 }, (_, index) => ({ ...WEATHER, name: `get_weather_${index}` }))

interface Call {
  id: string
  name: string
  written: string
}

function callsOf({ parts }: WholeRun): Call[] {
  const calls: Call[] = []
  for (const part of parts) {
    if (part.type === 'tool-call') calls[part.index] = { id: part.id, name: part.name, written: '' }
    const call = part.type === 'tool-call-arguments' ? calls[part.index] : undefined
    if (call !== undefined && part.type === 'tool-call-arguments') call.written += part.text
  }
  return calls
}

async function asked(bench: ContractBench, changes: Partial<ChatTask>): Promise<WholeRun> {
  return bench.run(await bench.shared(), { ...bench.chat(0).task, maxTokens: 200, ...changes })
}

function assertOneCall(run: WholeRun, name: string): void {
  const calls = callsOf(run)
  assert.deepEqual(
    calls.map((call) => call.name),
    [name],
  )
  const { city } = JSON.parse(calls[0]?.written ?? '') as { city: string }
  assert(CITIES.includes(city), city)
  assert.notEqual(calls[0]?.id, '')
  assert.equal(run.result.finishReason, 'tool-calls')
}

/** A list of this many words is a large grammar, and no answer of its own. */
const WORDS = Array.from({ length: 1000 }, (_, index) => `word-${index}`)

export const toolCases: readonly ContractCheck[] = [
  {
    name: 'calls the tool that it is told to, with arguments that fit its schema, though the model would not',
    needs: 'holdsFormats',
    async check(bench) {
      const tools = [WEATHER]
      for (const toolChoice of ['required', { name: 'get_weather' }] as const)
        assertOneCall(await asked(bench, { tools, toolChoice, parallelToolCalls: false }), 'get_weather')
      await bench.assertUsable(await bench.shared())
    },
  },
  {
    name: 'calls no tool where none may be called',
    needs: 'holdsFormats',
    async check(bench) {
      const run = await asked(bench, { tools: [WEATHER], toolChoice: 'none' })
      assert.deepEqual(callsOf(run), [])
      assert.notEqual(run.result.finishReason, 'tool-calls')
    },
  },
  {
    name: 'finds the one that is named among many tools',
    needs: 'holdsFormats',
    async check(bench) {
      const changes = { tools: MANY, toolChoice: { name: 'get_weather_7' }, parallelToolCalls: false }
      assertOneCall(await asked(bench, changes), 'get_weather_7')
    },
  },
  {
    name: 'holds an answer to one of a thousand values',
    needs: 'holdsFormats',
    async check(bench) {
      const format: OutputFormat = {
        type: 'json-schema',
        name: 'word',
        strict: true,
        schema: { enum: WORDS },
      }
      const { text } = await asked(bench, { format })
      assert(WORDS.includes(JSON.parse(text) as string), text)
    },
  },
  {
    name: 'writes a JSON object where one is asked for, or says that it was cut',
    needs: 'holdsFormats',
    async check(bench) {
      const { text, result } = await asked(bench, { format: { type: 'json-object' }, maxTokens: 60 })
      assert(text.startsWith('{') || text === '', text)
      if (result.finishReason !== 'length') assert.equal(typeof JSON.parse(text), 'object')
    },
  },
]
