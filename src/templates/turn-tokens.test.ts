import { describe, expect, it } from 'vitest'
import { ChatTemplate } from './chat-template.ts'

const CONTROL = ['<|im_start|>', '<|im_end|>', '<s>', '</s>']

function leastPerTurn(source?: string): number {
  return new ChatTemplate({ ...(source !== undefined && { source }), controlTexts: CONTROL }).leastPerTurn
}

describe('tokens that a turn takes at the least', () => {
  it('are the control tokens around it', () => {
    expect(leastPerTurn()).toBe(2)
  })

  it.each([
    [
      'that marks every second turn',
      "{{ '<s>' }}{% for m in messages %}{{ m.content }}{% if loop.index0 % 2 %}</s>{% endif %}{% endfor %}",
      1,
    ],
    ['without control tokens', '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}', 1],
    ['that shows the last turn alone', '{{ messages[-1].content }}', 0],
    [
      'that takes one turn alone',
      "{% if messages | length > 1 %}{{ raise_exception('One.') }}{% endif %}{{ messages[0].content }}",
      0,
    ],
  ])('a template %s', (_what, source, least) => {
    expect(leastPerTurn(source)).toBe(least)
  })
})
