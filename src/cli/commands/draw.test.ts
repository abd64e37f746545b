import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createDesk } from '../test-desk.ts'
import { draw } from './draw.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'draw-'))
})
afterEach(() => rm(folder, { recursive: true }))

it('draw writes a PNG file, with what was asked for', async () => {
  const desk = createDesk()
  const output = join(folder, 'house.PNG')
  await draw(desk.context, ['A', 'house.'], { model: 'painter', output, size: '64x64', seed: 0 })
  expect(await readFile(output, 'utf8')).toBe('picture')
  expect(desk.yard.calls).toContain('draw A house. in 64x64')
})

it('draw refuses other endings before anything is loaded', async () => {
  const desk = createDesk()
  const wrong = draw(desk.context, ['x'], { model: 'painter', output: join(folder, 'x.jpg') })
  await expect(wrong).rejects.toThrow('must end in .png')
  expect(desk.yard.calls).toEqual([])
})

it('draw writes into a pipe', async () => {
  const desk = createDesk()
  await draw(desk.context, ['x'], { model: 'painter' })
  expect(desk.out()).toBe('picture')
})
