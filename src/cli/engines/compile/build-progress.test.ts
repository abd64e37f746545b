import { expect, it } from 'vitest'
import { buildProgress } from './build-progress.ts'

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
