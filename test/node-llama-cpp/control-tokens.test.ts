import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LlamaModel } from '../../src/engines/node-llama-cpp/llama-module.ts'
import { llamaRuntime } from '../../src/engines/node-llama-cpp/llama-runtime.ts'
import { Vocabulary } from '../../src/engines/node-llama-cpp/vocabulary.ts'
import { readGgufFacts } from '../../src/models/gguf/read-gguf-facts.ts'
import type { Message, Tool } from '../../src/tasks/message.ts'
import { ChatTemplate, type Conversation } from '../../src/templates/chat-template.ts'
import { makeTinyModel } from '../models/make-tiny-gguf.ts'
import {
  ENGINES_DIRECTORY,
  fetched,
  removeFolder,
  SMOLLM2,
  temporaryFolder,
  TINY_CHAT,
} from '../models/paths.ts'
import { NEVER } from './fixtures.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => removeFolder(folder))

interface Loaded {
  model: LlamaModel
  vocabulary: Vocabulary
  template: ChatTemplate
}

async function loaded(path: string): Promise<Loaded> {
  const { llama } = await llamaRuntime(ENGINES_DIRECTORY)
  const model = await llama.loadModel({
    modelPath: path,
    useMmap: true,
    useMlock: false,
    checkTensors: false,
    loadSignal: NEVER,
    onLoadProgress: () => undefined,
  })
  const vocabulary = new Vocabulary(model)
  const { chatTemplate } = await readGgufFacts(path)
  const { bosText, eosText, controlTexts, endTexts, userDefinedTexts } = vocabulary
  const template = new ChatTemplate({
    ...(chatTemplate !== undefined && { source: chatTemplate }),
    ...(bosText !== undefined && { bosToken: bosText }),
    ...(eosText !== undefined && { eosToken: eosText }),
    controlTexts,
    endTexts,
    userDefinedTexts,
  })
  return { model, vocabulary, template }
}

/** Ids in a prompt that are no text. */
function controlIds({ model, vocabulary, template }: Loaded, conversation: Conversation): number[] {
  const ids = vocabulary.tokenizePrompt(template.render(conversation))
  return ids.filter((id) => {
    const { control, unknown } = model.getTokenAttributes(id)
    return control || unknown || model.isEogToken(id)
  })
}

/** The same conversation without anything that looks like a token. */
const harmless = (text: string): string => 'x'.repeat(Math.max(1, text.length))

function hostileText(texts: readonly string[]): fc.Arbitrary<string> {
  const token = fc.constantFrom(...texts)
  const part = fc.tuple(token, fc.nat(), fc.nat()).map(([text, a, b]) => {
    const [from, to] = [a % text.length, b % text.length].toSorted((one, other) => one - other)
    return text.slice(from, (to ?? 0) + 1)
  })
  const other = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 4 }), fc.constantFrom('\uFDD0', ' ', '\n'))
  return fc.array(fc.oneof(token, part, other), { maxLength: 6 }).map((parts) => `a${parts.join('')}`)
}

function conversationOf(texts: readonly string[], disguise: (text: string) => string): Conversation {
  const [system = '', user = '', answer = '', name = '', result = '', last = ''] = texts.map(disguise)
  const messages: Message[] = [
    { role: 'system', content: system },
    {
      role: 'user',
      content: [
        { type: 'text', text: user },
        { type: 'text', text: last },
      ],
    },
    {
      role: 'assistant',
      content: answer,
      toolCalls: [{ id: 'call_1', name, arguments: JSON.stringify({ [name]: result }) }],
    },
    { role: 'tool', content: result, toolCallId: 'call_1' },
    { role: 'user', content: last },
  ]
  const tools: Tool[] = [
    { name, description: system, parameters: { properties: { [user]: { type: 'string' } } } },
  ]
  return { messages, tools }
}

function holdsFor(subject: Loaded, runs: number): void {
  const hostile = hostileText(subject.vocabulary.controlTexts)
  fc.assert(
    fc.property(fc.array(hostile, { minLength: 6, maxLength: 6 }), (texts) => {
      const wanted = controlIds(subject, conversationOf(texts, harmless))
      expect(
        controlIds(
          subject,
          conversationOf(texts, (text) => text),
        ),
      ).toEqual(wanted)
    }),
    { numRuns: runs },
  )
}

describe('P15: whatever users write, the prompt has the control tokens of its template and no other', () => {
  it('with tiny-chat', async () => {
    const subject = await loaded(TINY_CHAT)
    expect(subject.vocabulary.controlTexts).toEqual(['<|endoftext|>', '<|im_start|>', '<|im_end|>'])
    holdsFor(subject, 300)
    await subject.model.dispose()
  })

  it('with a SentencePiece vocabulary', async () => {
    const subject = await loaded(makeTinyModel(`${folder}/spm.gguf`, { tokenizer: 'spm' }).path)
    expect(subject.vocabulary.controlTexts).toContain('</s>')
    holdsFor(subject, 300)
    await subject.model.dispose()
  })

  it.skipIf(!fetched(SMOLLM2))('with SmolLM2', async () => {
    const subject = await loaded(SMOLLM2)
    expect(subject.vocabulary.controlTexts).toContain('<jupyter_output>')
    holdsFor(subject, 100)
    await subject.model.dispose()
  })
})

const MARKS = ['<think>', '</think>', '<tool_call>', '</tool_call>']
/** Tells its tools, and has marks of its own in every prompt. */
const MARKED =
  "{% for t in tools or [] %}<tool_call>{{ t | tojson }}</tool_call>{% endfor %}{% for m in messages %}{{ '<|im_start|>' + m['role'] + m['content'] + '<|im_end|>' }}" +
  '{% for c in m.tool_calls or [] %}<tool_call>{{ c.function.name }}{{ c.function.arguments | tojson }}</tool_call>{% endfor %}{% endfor %}<think>'

describe('P15: marks of calls and reasoning that are tokens of their own', () => {
  it('are in the prompt where the template or an earlier answer has them, and nowhere else', async () => {
    const chain = { after: '\n', pieces: MARKS }
    const { path } = makeTinyModel(`${folder}/marks.gguf`, { chains: [chain], chatTemplate: MARKED })
    const { model, vocabulary, template } = await loaded(path)
    const marks = new Set(MARKS.flatMap((text) => vocabulary.tokenizeMark(text)))
    expect(marks.size).toBe(MARKS.length)
    const marksOf = (conversation: Conversation): number[] =>
      vocabulary.tokenizePrompt(template.render(conversation)).filter((id) => marks.has(id))
    fc.assert(
      fc.property(fc.array(hostileText(MARKS), { minLength: 6, maxLength: 6 }), (texts) => {
        const [system = '', user = '', , name = '', result = '', last = ''] = texts
        const said = [system, user, 'an answer', name, result, last]
        const wanted = marksOf(conversationOf(said, harmless))
        expect(marksOf(conversationOf(said, (text) => text))).toEqual(wanted)
      }),
      { numRuns: 300 },
    )
    const answered = marksOf({
      messages: [
        { role: 'assistant', content: '<think>a</think>b' },
        { role: 'user', content: 'c' },
      ],
    })
    expect(answered).toHaveLength(3)
    await model.dispose()
  })
})

describe('a prompt without look-alikes', () => {
  it('P15: is tokenised as the whole text is', async () => {
    const { model, vocabulary, template } = await loaded(TINY_CHAT)
    for (const content of ['hi', 'a < b | c > d', '> quote', '<tool_cal', 'x<|', '😀 <b>']) {
      const pieces = template.render({ messages: [{ role: 'user', content }] })
      expect(vocabulary.tokenizePrompt(pieces)).toEqual(model.tokenize(pieces.join(''), true))
    }
    await model.dispose()
  })
})

describe('the bytes of tokens', () => {
  it('are those the engine has, wherever that does not change spaces', async () => {
    for (const path of [TINY_CHAT, makeTinyModel(`${folder}/spm2.gguf`, { tokenizer: 'spm' }).path]) {
      const { model, vocabulary } = await loaded(path)
      const text = 'Hello, the user and system "model"…  Ünïcödé 你好 😀\n\tend'
      const ids = vocabulary.tokenizeText(text)
      const bytes = Buffer.concat(ids.map((id) => vocabulary.bytesOf(id)))
      expect(bytes.toString()).toBe(text)
      await model.dispose()
    }
  })
})
