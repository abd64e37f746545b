import { describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { Part, PartStream, Result } from '../tasks/part.ts'
import type { Run, RunRequest } from './run.ts'
import { TextStream } from './text-stream.ts'
import type { HandledTool } from './tool-handler.ts'
import { ToolRounds } from './tool-rounds.ts'

type Round = string | { name: string; given: string }[]

const USAGE = { promptTokens: 10, cachedTokens: 0, completionTokens: 3, reasoningTokens: 0 }
const MODEL = { id: 'run', model: 'm', queueMs: 0, loadMs: 0, promptTokens: 10, cachedTokens: 0 }

/** A model that says these one after the other, and what it was asked. */
function scripted(rounds: readonly Round[]): { startRun: (request: RunRequest) => Run; asked: RunRequest[] } {
  const asked: RunRequest[] = []
  return {
    asked,
    startRun: (request) => {
      const round = rounds[asked.length] ?? 'over'
      asked.push(request)
      return { info: MODEL, parts: spoken(round) }
    },
  }
}

async function* spoken(round: Round): PartStream {
  yield { type: 'started', promptTokens: 10, cachedTokens: 0 }
  if (typeof round === 'string') {
    yield { type: 'text', text: round }
    return ended('stop')
  }
  for (const [index, { name, given }] of round.entries()) {
    yield { type: 'tool-call', index, id: `call_${index}`, name }
    yield { type: 'tool-call-arguments', index, text: given }
  }
  return ended('tool-calls')
}

function ended(finishReason: Result['finishReason']): Result {
  return { finishReason, usage: USAGE, timings: { prefill: 1, decode: 2 } }
}

const WEATHER: HandledTool = {
  name: 'weather',
  parameters: { type: 'object' },
  handler: ({ city }) => ({ city, sun: true }),
}

interface Setting {
  tools?: HandledTool[]
  maxRounds?: number
  signal?: AbortSignal
  timeout?: number
  task?: Partial<ChatTask>
}

function open(
  rounds: readonly Round[],
  { tools = [WEATHER], maxRounds, signal, timeout, task }: Setting = {},
) {
  const model = scripted(rounds)
  const clock = new ManualClock()
  const chat: ChatTask = {
    kind: 'chat',
    messages: [{ role: 'user', content: 'hi' }],
    sampling: {},
    stop: [],
    ...task,
  }
  const loop = new ToolRounds({
    request: {
      model: 'm',
      task: chat,
      ...(signal !== undefined && { signal }),
      ...(timeout !== undefined && { timeout }),
    },
    tools,
    startRun: model.startRun,
    clock,
    ...(maxRounds !== undefined && { maxRounds }),
  })
  return { stream: new TextStream(loop), asked: model.asked, clock }
}

const CALL: Round = [{ name: 'weather', given: '{"city": "Rome"}' }]

function lastResult(asked: readonly RunRequest[]): unknown {
  const task = asked.at(-1)?.task as ChatTask
  return task.messages.at(-1)?.content
}

describe('tools with handlers', () => {
  it('E3: are called, and what they return is told the model', async () => {
    const { stream, asked } = open([CALL, 'Sunny.'])
    const answer = await stream.answer()
    expect(answer.text).toBe('Sunny.')
    expect(answer.result).toMatchObject({
      finishReason: 'stop',
      usage: { promptTokens: 20, completionTokens: 6 },
    })
    expect((asked[1]?.task as ChatTask | undefined)?.messages).toEqual([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'call_0', name: 'weather', arguments: '{"city": "Rome"}' }],
      },
      { role: 'tool', toolCallId: 'call_0', name: 'weather', content: '{"city":"Rome","sun":true}' },
    ])
    expect(answer.messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant'])
  })

  it('E3: give all parts of all rounds to who reads the stream', async () => {
    const parts: Part[] = []
    for await (const part of open([CALL, 'Sunny.']).stream) parts.push(part)
    expect(parts.map(({ type }) => type)).toEqual([
      'started',
      'tool-call',
      'tool-call-arguments',
      'started',
      'text',
    ])
  })

  it('E3: work at the same time, and their results keep the order of the calls', async () => {
    const order: string[] = []
    let finish = (): void => undefined
    const slow = new Promise<void>((resolve) => {
      finish = resolve
    })
    const first: HandledTool = {
      ...WEATHER,
      name: 'first',
      handler: async () => slow.then(() => order.push('first')),
    }
    const second: HandledTool = {
      ...WEATHER,
      name: 'second',
      handler: () => {
        order.push('second')
        finish()
        return 'b'
      },
    }
    const { stream, asked } = open(
      [
        [
          { name: 'first', given: '{}' },
          { name: 'second', given: '{}' },
        ],
        'Done.',
      ],
      { tools: [first, second] },
    )
    await stream.text()
    expect(order).toEqual(['second', 'first'])
    expect(
      (asked[1]?.task as ChatTask | undefined)?.messages
        .slice(-2)
        .map((message) => 'name' in message && message.name),
    ).toEqual(['first', 'second'])
  })

  it('E3: stop at the limit of rounds, and the calls are returned', async () => {
    const { stream, asked } = open([CALL, CALL, CALL, CALL], { maxRounds: 2 })
    const answer = await stream.answer()
    expect(asked).toHaveLength(3)
    expect(answer.result.finishReason).toBe('tool-calls')
    expect(answer.message.toolCalls).toHaveLength(1)
    const none = open([CALL, 'x'], { maxRounds: 0 })
    expect((await none.stream.answer()).result.finishReason).toBe('tool-calls')
    const usual = open(Array.from({ length: 20 }, () => CALL))
    await usual.stream.answer()
    expect(usual.asked).toHaveLength(9)
  })

  it('E3: without a handler are returned, together with the calls beside them', async () => {
    let called = 0
    const counted: HandledTool = { ...WEATHER, handler: () => called++ }
    const { handler: _, ...bare } = { ...WEATHER, name: 'bare' }
    const { stream, asked } = open(
      [
        [
          { name: 'weather', given: '{}' },
          { name: 'bare', given: '{}' },
        ],
      ],
      { tools: [counted, bare] },
    )
    expect((await stream.answer()).message.toolCalls).toHaveLength(2)
    expect([called, asked.length]).toEqual([0, 1])
  })

  it.each<[string, HandledTool['handler'], Round, string]>([
    [
      'throws',
      () => {
        throw new Error('no network')
      },
      CALL,
      'Error: no network',
    ],
    ['rejects', async () => Promise.reject(new Error('no network')), CALL, 'Error: no network'],
    ['returns nothing', () => undefined, CALL, ''],
    ['returns a text', () => 'sun', CALL, 'sun'],
    [
      'is asked with what is no JSON',
      () => 'never',
      [{ name: 'weather', given: '{"city"' }],
      'Error: the arguments are not a JSON object.',
    ],
    [
      'is not what the model calls',
      () => 'never',
      [{ name: 'fly', given: '{}' }],
      'Error: there is no tool "fly"; the tools are: weather.',
    ],
  ])('E3: the model is told when a handler %s', async (_, handler, round, told) => {
    const { stream, asked } = open([round, 'Then.'], { tools: [{ ...WEATHER, handler }] as HandledTool[] })
    expect(await stream.text()).toBe('Then.')
    expect(lastResult(asked)).toBe(told)
  })

  it('E3: that must be called must be so once: afterwards the model may answer', async () => {
    const { stream, asked } = open([CALL, 'Sunny.'], { task: { toolChoice: 'required' } })
    await stream.text()
    expect(asked.map(({ task }) => (task as ChatTask).toolChoice)).toEqual(['required', undefined])
  })

  it('E3, P13: end with what there is when the signal fires in a handler, which is told', async () => {
    const controller = new AbortController()
    let told = false
    const endless: HandledTool = {
      ...WEATHER,
      handler: async (_, { signal }) => {
        signal.addEventListener('abort', () => {
          told = true
        })
        controller.abort()
        return new Promise(() => undefined)
      },
    }
    const { stream, asked } = open([CALL, 'never'], { tools: [endless], signal: controller.signal })
    expect((await stream.answer()).result.finishReason).toBe('abort')
    expect([told, asked.length]).toEqual([true, 1])
  })

  it('E3, P13: have the time of the whole call', async () => {
    const held = open([CALL, 'never'], {
      timeout: 1000,
      tools: [
        {
          ...WEATHER,
          handler: async () => {
            held.clock.advance(1000)
            return new Promise(() => undefined)
          },
        },
      ],
    })
    expect((await held.stream.answer()).result.finishReason).toBe('timeout')
  })
})
