import { describe, expect, it, vi } from 'vitest'
import { specOf } from '../../../test/node-llama-cpp/fixtures.ts'
import type { Message } from '../../tasks/message.ts'
import { ChatTemplate } from '../../templates/chat-template.ts'
import type { LoadPlan } from '../engine.ts'
import { renderChat } from './rendered-chat.ts'

function turns(count: number): Message[] {
  return Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: 'a',
  }))
}

describe('a conversation of thousands of tiny messages', () => {
  const template = new ChatTemplate({ controlTexts: ['<|im_start|>', '<|im_end|>'] })
  const plan = { contextSize: 4096, spec: specOf() } as unknown as LoadPlan
  // One token of this vocabulary could hold all of it, so that the length of the text says nothing.
  const rendering = { plan, template, longestToken: 1_000_000 }
  const task = (count: number): Parameters<typeof renderChat>[0] => ({
    kind: 'chat',
    messages: turns(count),
    sampling: {},
    stop: [],
  })

  it('that cannot fit is refused with numbers before anything of it is rendered, so that nobody else waits', () => {
    expect(template.leastPerTurn).toBe(2)
    const render = vi.spyOn(template, 'render')
    expect(() => renderChat(task(20_000), rendering)).toThrow(
      /maximum context length is 4096 tokens, .* at least 39998;/,
    )
    expect(render).not.toHaveBeenCalled()
    render.mockRestore()
  })

  it('that may fit is rendered', () => {
    expect(renderChat(task(1001), rendering).pieces.join('')).toContain('<|im_start|>user\na<|im_end|>')
  })
})
