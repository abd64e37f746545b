import { expect, it } from 'vitest'
import { buildProgress, countedOn, stepsDone } from './build-progress.ts'

it.each([
  ['[42/345] Building CXX object src/CMakeFiles/llama.dir/llama.cpp.o', 'compiled 42 of 345 steps (12 %)'],
  ['[0/345] Re-checking globbed directories...', 'compiled 0 of 345 steps (0 %)'],
  ['[345/345] Linking CXX executable bin/llama-server', 'compiled 345 of 345 steps (100 %)'],
  ['[0/0] nothing', 'compiled 0 of 0 steps (100 %)'],
  ['[  0%] Building C object', 'compiled 0 %'],
  ['[ 42%] Building CXX object', 'compiled 42 %'],
  ['[100%] Built target llama-server', 'compiled 100 %'],
  ['unpacking the source', 'unpacking the source'],
  ['configuring it for this processor', 'configuring it for this processor'],
  ['compiling 2 files at a time', 'compiling 2 files at a time'],
  ['-- Configuring done (2.1s)', undefined],
  ['warning: [42/345] in the middle', undefined],
  ['', undefined],
])('%j tells %j', (line, told) => {
  expect(buildProgress(line)).toBe(told)
})

const LOG = '# ninja log v7\n0\t9\t1\ta.o\tff\n0\t9\t1\tb.o\tee\n9\t12\t2\ta.o\tdd\n'

it('what an earlier try has compiled counts, each output once', () => {
  expect(stepsDone(LOG)).toBe(2)
  expect(stepsDone('# ninja log v7\n')).toBe(0)
  expect(stepsDone('')).toBe(0)
})

it.each([
  ['[1/266] Building CXX object a.o', 64, '[65/330] Building CXX object a.o'],
  ['[1/330] Building CXX object a.o', 0, '[1/330] Building CXX object a.o'],
  ['[0/2] Re-checking', 64, '[64/66] Re-checking'],
  ['[ 42%] Building CXX object', 64, '[ 42%] Building CXX object'],
  ['warning: [1/2]', 64, 'warning: [1/2]'],
])('%j after %i steps is %j', (line, before, counted) => {
  expect(countedOn(line, before)).toBe(counted)
})
