import { expect, test } from 'vitest'
import { PromptPortions } from './prompt-portions.ts'

const portions = new PromptPortions(['<|im_start|>', '<|im_end|>', '<|im_end|>|', '<mask>', ''])

test('a conversation of very many short turns is cut before control texts, and nothing of it is lost', () => {
  const text = '<|im_start|>user\n<|im_end|>\n'.repeat(2000)
  const cut = portions.of(text)
  expect(cut.join('')).toBe(text)
  expect(cut.length).toBeGreaterThan(10)
  expect(Math.max(...cut.map(({ length }) => length))).toBeLessThan(1100)
  expect(cut.every((portion) => /^<\|im_(?:start|end)\|>/.test(portion))).toBe(true)
})

test('short texts, and long ones without control texts, stay whole', () => {
  expect(portions.of('')).toEqual([''])
  expect(portions.of('<|im_start|>user\na<|im_end|>')).toEqual(['<|im_start|>user\na<|im_end|>'])
  expect(portions.of('a '.repeat(5000))).toHaveLength(1)
  expect(new PromptPortions([]).of('<|im_end|>'.repeat(1000))).toHaveLength(1)
})

test('nothing is cut before a mask, which takes the spaces before it', () => {
  expect(portions.of('a <mask>'.repeat(1000))).toHaveLength(1)
})

test('where one control text begins another, the longer one is cut before and kept whole', () => {
  const cut = portions.of(`${'a'.repeat(5000)}<|im_end|>|`)
  expect(cut.at(-1)).toBe('<|im_end|>|')
})
