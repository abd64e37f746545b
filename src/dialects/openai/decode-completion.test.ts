import { describe, expect, it } from 'vitest'
import type { Fields } from '../fields.ts'
import { decodeCompletionTasks } from './decode-completion.ts'

function refusal(body: Fields): string {
  try {
    decodeCompletionTasks(body)
  } catch (error) {
    const { code, details } = error as { code: string; details: { param?: string } }
    return `${code} ${details.param}`
  }
  return 'accepted'
}

describe('completions', () => {
  it.each([
    ['', ['']],
    ['Once', ['Once']],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [[1, 2, 3], [[1, 2, 3]]],
    [
      [[1, 2], [3]],
      [[1, 2], [3]],
    ],
    [
      ['a', [3]],
      ['a', [3]],
    ],
  ])('prompt %j gives the prompts %j', (prompt, prompts) => {
    expect(decodeCompletionTasks({ prompt }).map((task) => task.prompt)).toEqual(prompts)
  })

  it.each([
    [undefined, 'prompt'],
    [null, 'prompt'],
    [5, 'prompt'],
    [[], 'prompt'],
    [[[]], 'prompt[0]'],
    [['a', 5], 'prompt[1]'],
    [[1, 'a'], 'prompt[1]'],
    [[1, -2], 'prompt[1]'],
    [[[1], [2, 0.5]], 'prompt[1][1]'],
    [Array.from({ length: 129 }, () => 'x'), 'prompt'],
  ])('prompt %j is a 400', (prompt, param) => {
    expect(refusal({ prompt })).toBe(`invalid_request ${param}`)
  })

  it('BR-06: the reference’s default of 16 tokens holds, and zero is a value', () => {
    const limits = [{}, { max_tokens: null }, { max_tokens: 0 }, { max_tokens: 40 }]
    expect(limits.map((body) => decodeCompletionTasks({ prompt: 'x', ...body })[0]?.maxTokens)).toEqual([
      16, 16, 0, 40,
    ])
  })

  it('takes echo together with logprobs, but not with a suffix as well', () => {
    expect(decodeCompletionTasks({ prompt: 'x', echo: true, logprobs: 0 })[0]).toMatchObject({
      echo: true,
      topLogprobs: 0,
    })
    expect(() => decodeCompletionTasks({ prompt: 'x', suffix: 'y', echo: true, logprobs: 0 })).toThrowError(
      expect.objectContaining({
        code: 'unsupported',
        details: { param: 'logprobs', httpStatus: 501 },
      }) as Error,
    )
    expect(decodeCompletionTasks({ prompt: 'x', echo: true })[0]).toMatchObject({ echo: true })
  })

  it('takes suffix, echo and logprobs, empty and zero included', () => {
    expect(decodeCompletionTasks({ prompt: 'x', suffix: '', echo: false, logprobs: 0 })[0]).toEqual({
      kind: 'completion',
      prompt: 'x',
      sampling: {},
      stop: [],
      maxTokens: 16,
      suffix: '',
      echo: false,
      topLogprobs: 0,
    })
  })

  it.each([
    [{ suffix: 5 }, 'suffix'],
    [{ echo: 'yes' }, 'echo'],
    [{ logprobs: 6 }, 'logprobs'],
    [{ logprobs: true }, 'logprobs'],
    [{ max_tokens: -1 }, 'max_tokens'],
  ])('%j is a 400', (body, param) => {
    expect(refusal({ prompt: 'x', ...body })).toBe(`invalid_request ${param}`)
  })
})
