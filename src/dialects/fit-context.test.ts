import { describe, expect, it } from 'vitest'
import { ScriptedPort } from '../../test/http/scripted-port.ts'
import { ModelyardError } from '../base/errors.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import { contentText, type Message } from '../tasks/message.ts'
import type { Task } from '../tasks/task.ts'
import { fitConversation, fitInputs, requireContext, type ContextQuestion } from './fit-context.ts'

const NEVER = new AbortController().signal

/** A model whose tokens are characters, with a context of 20. */
class CountingPort extends ScriptedPort {
  counted = 0
  refuses = false

  override countTokens(_model?: string, task?: Task): Promise<number> {
    this.counted++
    const texts =
      task?.kind === 'chat'
        ? task.messages.map(({ content }) => contentText(content))
        : task?.kind === 'embedding'
          ? task.inputs
          : []
    const tokens = texts.join('').length
    if (!this.refuses || tokens < 20) return Promise.resolve(tokens)
    const details = { promptTokens: tokens, contextSize: 20 }
    return Promise.reject(new ModelyardError('context_length_exceeded', 'Too long.', { details }))
  }
}

function question(
  models: ScriptedPort['models'][number]['contextLength'] = 20,
): ContextQuestion & { port: CountingPort } {
  return { port: new CountingPort({ models: [{ contextLength: models }] }), model: 'model-a', signal: NEVER }
}

const user = (content: string): Message => ({ role: 'user', content })
const assistant = (content: string): Message => ({ role: 'assistant', content })
const chat = (messages: Message[]): ChatTask => ({ kind: 'chat', messages, sampling: {}, stop: [] })

describe('num_ctx (M3)', () => {
  it.each([0, 1, 20])('%d is fine', async (wanted) => {
    await expect(requireContext(wanted, question())).resolves.toBeUndefined()
  })

  it('more than the model has is a 400 with both numbers', async () => {
    await expect(requireContext(21, question())).rejects.toMatchObject({
      code: 'invalid_request',
      details: { param: 'options.num_ctx' },
      message: expect.stringMatching(/21 tokens.*context of 20/) as string,
    })
  })

  it('a model whose context nobody knows is loaded first, as the run would do anyway', async () => {
    const asked = question(null)
    await requireContext(4096, asked)
    expect(asked.port.loads).toEqual([{ model: 'model-a' }])
  })
})

describe('truncate of conversations (E5)', () => {
  it('what fits stays whole', async () => {
    const messages = [user('1234'), assistant('5678'), user('9')]
    expect(await fitConversation(chat(messages), question())).toEqual({ messages, dropped: 0 })
  })

  it.each([false, true])(
    'oldest turns go, those of the system and the last question stay; counting refuses: %j',
    async (refuses) => {
      const asked = question()
      asked.port.refuses = refuses
      const messages = [
        { role: 'system' as const, content: 'SYS' },
        ...Array.from({ length: 50 }, (_, index) => [
          user(`u${index % 10}`),
          assistant(`a${index % 10}`),
        ]).flat(),
        user('last'),
      ]
      const { messages: kept, dropped } = await fitConversation(chat(messages), asked)
      expect(kept.map(({ content }) => contentText(content)).join(' ')).toBe('SYS u7 a7 u8 a8 u9 a9 last')
      expect(dropped).toBe(messages.length - kept.length)
      expect(asked.port.counted).toBeLessThan(12)
    },
  )

  it('a turn goes with its calls and results', async () => {
    const messages: Message[] = [
      user('first'),
      { role: 'assistant', content: 'calls', toolCalls: [{ id: 'x', name: 'y', arguments: '{}' }] },
      { role: 'tool', content: 'result', toolCallId: 'x' },
      assistant('said'),
      user('last'),
    ]
    const { messages: kept } = await fitConversation(chat(messages), question())
    expect(kept).toEqual([user('last')])
  })

  it('when not even the last question fits, nothing goes: the run tells both numbers', async () => {
    const messages = [user('1234'), assistant('5678'), user('x'.repeat(40))]
    expect(await fitConversation(chat(messages), question())).toEqual({ messages, dropped: 0 })
  })
})

describe('truncate of texts', () => {
  it('what is too long loses its end, characters stay whole', async () => {
    const emoji = '😸'.repeat(30)
    const { inputs, cut } = await fitInputs(['short', 'y'.repeat(100), emoji], question())
    expect(inputs).toEqual(['short', 'y'.repeat(19), '😸'.repeat(9)])
    expect(cut).toEqual([1, 2])
  })

  it('short texts are not even counted', async () => {
    const asked = question()
    await fitInputs(['a', 'b', 'c'], asked)
    expect(asked.port.counted).toBe(0)
  })

  it('a text that only might be too long stays as it is', async () => {
    expect(await fitInputs(['x'.repeat(19)], question())).toEqual({ inputs: ['x'.repeat(19)], cut: [] })
  })
})
