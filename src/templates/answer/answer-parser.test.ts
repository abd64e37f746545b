import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Tool } from '../../tasks/message.ts'
import type { Part } from '../../tasks/part.ts'
import type { ToolCallFormat } from '../tool-calls/tool-call-format.ts'
import { GENERIC_FORMAT, TOOL_CALL_FORMATS } from '../tool-calls/tool-call-formats.ts'
import { AnswerParser, type AnswerParserOptions } from './answer-parser.ts'
import { reasoningFormatOf } from './reasoning-format.ts'

const TOOLS: Tool[] = [
  {
    name: 'look',
    parameters: { type: 'object', properties: { at: { type: 'string' }, days: { type: 'integer' } } },
  },
]
const THINK = reasoningFormatOf('<think></think>')

function family(name: string): ToolCallFormat {
  return TOOL_CALL_FORMATS.find((format) => format.family === name) ?? GENERIC_FORMAT
}

type Options = Partial<AnswerParserOptions> & { parallel?: boolean }

function optionsOf(
  format: ToolCallFormat | undefined,
  { parallel = true, ...rest }: Options,
): AnswerParserOptions {
  return {
    ...(format !== undefined && { calls: { format, tools: TOOLS, parallel } }),
    startsInReasoning: false,
    ...rest,
  }
}

/** Parts as a reader joins them: `text:…`, `reasoning:…`, `look(…)`. */
function read(pieces: readonly string[], format?: ToolCallFormat, options: Options = {}): string[] {
  const parser = new AnswerParser(optionsOf(format, options))
  const parts = [...pieces.flatMap((piece) => parser.write(piece)), ...parser.end()]
  return joined(parts)
}

function joined(parts: readonly Part[]): string[] {
  const shown: string[] = []
  let last = ''
  for (const part of parts) {
    if (part.type === 'tool-call') shown.push(part.name)
    else if (part.type === 'tool-call-arguments')
      shown[shown.length - 1] += last === 'tool-call' ? `(${part.text}` : part.text
    else if (part.type === 'text' || part.type === 'reasoning') {
      if (last === part.type) shown[shown.length - 1] += part.text
      else shown.push(`${part.type}:${part.text}`)
    }
    last = part.type
  }
  return shown.map((text) => (text.startsWith('look(') ? `${text})` : text))
}

const bySize = (text: string, size: number): string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  )

const HERMES = family('hermes')
const CALL = '<tool_call>\n{"name": "look", "arguments": {"at": "it"}}\n</tool_call>'

describe('text around calls', () => {
  it('is kept before, between and after them', () => {
    const text = `First. ${CALL} Then ${CALL}\nLast.`
    const wanted = ['text:First. ', 'look({"at": "it"})', 'text:Then ', 'look({"at": "it"})', 'text:Last.']
    for (const size of [1, 2, 7, 1000]) expect(read(bySize(text, size), HERMES)).toEqual(wanted)
  })

  it('is no text where it is nothing but white space', () => {
    expect(read([`\n\n${CALL}\n${CALL}\n`], HERMES)).toEqual(['look({"at": "it"})', 'look({"at": "it"})'])
  })

  it('is kept as it is where no call comes', () => {
    expect(read(['\n  Hi < there <tool', ' \n'], HERMES)).toEqual(['text:\n  Hi < there <tool \n'])
    expect(read([' \n'], HERMES)).toEqual(['text: \n'])
  })
})

describe('a call', () => {
  it('has its arguments handed on as they come', () => {
    const parser = new AnswerParser(optionsOf(HERMES, {}))
    expect(parser.write('<tool_call>{"name": "look", "argu')).toEqual([])
    const [begin, first] = parser.write('ments": {"at": "Ro')
    expect(begin).toMatchObject({ type: 'tool-call', index: 0, name: 'look' })
    expect(first).toEqual({ type: 'tool-call-arguments', index: 0, text: '{"at": "Ro' })
    expect(parser.write('me"}')).toEqual([{ type: 'tool-call-arguments', index: 0, text: 'me"}' }])
  })

  it('without arguments has an empty object', () => {
    expect(read(['<tool_call>{"name": "look"}</tool_call>'], HERMES)).toEqual(['look({})'])
  })

  it('may have its arguments before its name, as a text, or be inside of "function"', () => {
    expect(read(['<tool_call>{"arguments": {"at":"it"}, "name": "look"}</tool_call>'], HERMES)).toEqual([
      'look({"at":"it"})',
    ])
    expect(
      read([String.raw`<tool_call>{"name": "look", "arguments": "{\"at\": 1}"}</tool_call>`], HERMES),
    ).toEqual(['look({"at": 1})'])
    expect(
      read(
        ['<tool_call>{"type": "function", "function": {"name": "look", "parameters": {}}}</tool_call>'],
        HERMES,
      ),
    ).toEqual(['look({})'])
  })

  it('may hold the marks of calls in its texts', () => {
    const text = '<tool_call>{"name": "look", "arguments": {"at": "</tool_call> } \\" {"}}</tool_call>after'
    for (const size of [1, 5, 1000])
      expect(read(bySize(text, size), HERMES)).toEqual(['look({"at": "</tool_call> } \\" {"})', 'text:after'])
  })

  it('keeps the id that the model gives, when it is one', () => {
    const parser = new AnswerParser(optionsOf(family('mistral'), {}))
    expect(parser.write('[TOOL_CALLS]look[CALL_ID]abc123DEF[ARGS]{}')[0]).toMatchObject({ id: 'abc123DEF' })
    const short = new AnswerParser(optionsOf(family('command-r'), {}))
    const [call] = short.write(
      '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "look", "parameters": {}}]',
    )
    expect(call).toMatchObject({ id: expect.stringMatching(/^call_/) as string })
  })

  it('is the last where one is allowed', () => {
    const parser = new AnswerParser(optionsOf(HERMES, { parallel: false }))
    expect(joined([...parser.write(`${CALL}${CALL}`), ...parser.end()])).toEqual(['look({"at": "it"})'])
    expect(parser.isDone).toBe(true)
  })
})

describe('what looks like a call and is none', () => {
  it.each([
    ['<tool_call>later</tool_call>'],
    ['<tool_call></tool_call> x'],
    ['<tool_call>{"nome": "look"}</tool_call>'],
    ['<tool_call>{"name": 5, "arguments": {}}</tool_call>'],
    ['<tool_call>{"name": ""}</tool_call>'],
    [`<tool_call>{"note": "${'x'.repeat(600)}", "name": "look"}</tool_call>`],
    ['<tool_call>{"name"'],
    ['<tool_call'],
  ])('is text: %s', (text) => {
    for (const size of [1, 4, 5000]) expect(read(bySize(text, size), HERMES).join('')).toBe(`text:${text}`)
  })

  it('is text where it names no tool and has no marker', () => {
    const json = '{"name": "Rome", "parameters": {"size": 3}}'
    for (const size of [1, 4, 1000])
      expect(read(bySize(json, size), family('llama-3'))).toEqual([`text:${json}`])
    expect(read(['{"name": "look", "parameters": {"at": "it"}}'], family('llama-3'))).toEqual([
      'look({"at": "it"})',
    ])
    expect(read(['See {"name": "look", "parameters": {}}'], family('llama-3'))).toEqual([
      'text:See {"name": "look", "parameters": {}}',
    ])
  })

  it('keeps arguments that are no JSON as the model wrote them', () => {
    expect(read(['<tool_call>{"name": "look", "arguments": {"at": it}}</tool_call>'], HERMES)).toEqual([
      'look({"at": it})',
    ])
    expect(read(['<tool_call>{"name": "look", "arguments": {"at": "it"</tool_call>Done'], HERMES)).toEqual([
      'look({"at": "it")',
      'text:Done',
    ])
  })
})

describe('families', () => {
  it.each([
    [
      'mistral',
      '[TOOL_CALLS]look[ARGS]{"at": "it"}[TOOL_CALLS]look[ARGS]{}',
      ['look({"at": "it"})', 'look({})'],
    ],
    [
      'mistral-list',
      '[TOOL_CALLS] [{"name": "look", "arguments": {"at": "it"}, "id": "1"}]',
      ['look({"at": "it"})'],
    ],
    ['llama-3', '<|python_tag|>{"name": "look", "parameters": {"at": "it"}}', ['look({"at": "it"})']],
    [
      'phi-4',
      '<|tool_call|>[{"name": "look", "arguments": {"at": "it"}}]<|/tool_call|>',
      ['look({"at": "it"})'],
    ],
    ['functionary-v3.2', '>>>all\nHello>>>look\n{"at": "it"}', ['text:Hello', 'look({"at": "it"})']],
    [
      'gpt-oss',
      '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"at": "it"}<|call|>',
      ['look({"at": "it"})'],
    ],
    [
      'lfm2',
      "<|tool_call_start|>[look(at='it\\'s', days=3), look()]<|tool_call_end|>",
      [`look({"at": "it's", "days": 3})`, 'look({})'],
    ],
    [
      'gemma-4',
      '<|tool_call>call:look{at:<|"|>a,b}<|"|>,days:3}<tool_call|>',
      ['look({"at": "a,b}", "days": 3})'],
    ],
    [
      'qwen-coder',
      '<tool_call>\n<function=look>\n<parameter=at>\n5\n</parameter>\n<parameter=days>\n5\n</parameter>\n</function>\n</tool_call>',
      ['look({"at": "5", "days": 5})'],
    ],
    [
      'qwen-coder',
      '<tool_call>\n{"name": "look", "arguments": {"at": "it"}}\n</tool_call>',
      ['look({"at": "it"})'],
    ],
    [
      'glm',
      '<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>it "is"\n</arg_value>\n</tool_call>',
      [String.raw`look({"at": "it \"is\"\n"})`],
    ],
    [
      'deepseek',
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{"at": "it"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      ['look({"at": "it"})'],
    ],
    [
      'minimax-m3',
      ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="look">]<]minimax[>[<at>a <b> "c"]<]minimax[>[</at>]<]minimax[>[<days>3]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name="look">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
      [String.raw`look({"at": "a <b> \"c\"", "days": 3})`, 'look({})'],
    ],
    [
      'minimax-m3',
      ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="look">]<]minimax[>[<in>]<]minimax[>[<item>]<]minimax[>[<x>1]<]minimax[>[</x>]<]minimax[>[<y>true]<]minimax[>[</y>]<]minimax[>[</item>]<]minimax[>[<item>two]<]minimax[>[</item>]<]minimax[>[</in>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
      ['look({"in": [{"x": 1, "y": true}, "two"]})'],
    ],
    [
      'minimax-m3',
      ']<]minimax[>[<tool_call>\n{"name": "look", "arguments": {"at": "it"}}\n]<]minimax[>[</tool_call>',
      ['look({"at": "it"})'],
    ],
    ['generic', 'Sure. {"name": "look"}', ['text:Sure. {"name": "look"}']],
    ['generic', '{"name": "look", "arguments": {}}', ['look({})']],
  ])('%s', (name, text, wanted) => {
    for (const size of [1, 3, 1000]) expect(read(bySize(text, size), family(name))).toEqual(wanted)
  })
})

describe('reasoning', () => {
  const thinking = (pieces: string[], options: Options = {}): string[] =>
    read(pieces, undefined, { ...(THINK !== undefined && { reasoning: THINK }), ...options })

  it('BR-38: is apart from the answer, without its marks and the space around them', () => {
    for (const size of [1, 3, 1000]) {
      expect(thinking(bySize('<think>\nLet me\n\nsee.\n</think>\n\nYes.', size))).toEqual([
        'reasoning:Let me\n\nsee.',
        'text:Yes.',
      ])
    }
  })

  it('BR-38: may have begun in the prompt', () => {
    expect(thinking(['Hm.</thi', 'nk>Yes.'], { startsInReasoning: true })).toEqual([
      'reasoning:Hm.',
      'text:Yes.',
    ])
    expect(thinking(['Hm, no end'], { startsInReasoning: true })).toEqual(['reasoning:Hm, no end'])
  })

  it('is text where the model speaks of its marks', () => {
    expect(thinking(['Write <think> first.'])).toEqual(['text:Write <think> first.'])
  })

  it('may come again after a call', () => {
    const text = `<think>a</think>${CALL}<think>b</think>End`
    expect(read(bySize(text, 2), HERMES, { ...(THINK !== undefined && { reasoning: THINK }) })).toEqual([
      'reasoning:a',
      'look({"at": "it"})',
      'reasoning:b',
      'text:End',
    ])
  })

  it('of gpt-oss comes in channels', () => {
    const reasoning = reasoningFormatOf('<|channel|>analysis')
    const text = '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.'
    for (const size of [1, 9, 1000]) {
      const options = reasoning === undefined ? {} : { reasoning }
      expect(read(bySize(text, size), family('gpt-oss'), options)).toEqual(['reasoning:Hm.', 'text:Yes.'])
    }
  })
})

describe('whatever the model writes', () => {
  const marks = TOOL_CALL_FORMATS.flatMap(({ begins, ends, silent = [], inner = [] }) => [
    ...begins,
    ...ends,
    ...silent,
    ...inner,
  ])
  const scraps = [
    '{"name": "look", "arguments": ',
    '{"at": "it"}',
    '}',
    '"',
    '\\',
    '[',
    ']',
    '(',
    ')',
    '<think>',
    '</think>',
    ' ',
    '\n',
    '😀',
    'look',
    '<function=look>',
    '<parameter=at>',
    ']<]minimax[>[<invoke name="look">',
    ']<]minimax[>[<at>',
    ']<]minimax[>[</at>',
  ]
  const answer = fc.array(fc.oneof(fc.constantFrom(...marks, ...scraps), fc.string({ maxLength: 5 })), {
    maxLength: 12,
  })

  it('is read without a failure, and the same however it is cut', () => {
    const formats = fc.constantFrom(...TOOL_CALL_FORMATS, GENERIC_FORMAT)
    fc.assert(
      fc.property(formats, answer, fc.integer({ min: 1, max: 9 }), (format, pieces, size) => {
        const text = pieces.join('')
        const options = THINK === undefined ? {} : { reasoning: THINK }
        expect(read(bySize(text, size), format, options)).toEqual(read([text], format, options))
      }),
      { numRuns: 3000 },
    )
  })

  it('never vanishes where it holds no mark', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 4 }), (text, size) => {
        fc.pre(!text.includes('<tool_call>'))
        expect(read(bySize(text, size), HERMES).join('')).toBe(text === '' ? '' : `text:${text}`)
      }),
    )
  })

  it('is kept back for a marker and a header at most', () => {
    const parser = new AnswerParser(optionsOf(HERMES, {}))
    const text = `<tool_call>{"x": "${'y'.repeat(3000)}`
    let shown = 0
    for (const unit of text) {
      for (const part of parser.write(unit)) shown += 'text' in part ? part.text.length : 0
    }
    expect(text.length - shown).toBeLessThan(20)
  })
})
