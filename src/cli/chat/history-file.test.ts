import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HistoryFile } from './history-file.ts'

describe('HistoryFile', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'history-'))
  })
  afterEach(async () => await rm(folder, { recursive: true }))

  it('gives lines back newest first, in the next session too', async () => {
    const path = join(folder, 'new/folder/history')
    await new HistoryFile(path).add('first')
    await new HistoryFile(path).add('second')
    expect(await new HistoryFile(path).read()).toEqual(['second', 'first'])
  })

  it('is readable by its owner alone, even when the file was there with wider rights', async () => {
    const path = join(folder, 'history')
    await writeFile(path, 'old\n', { mode: 0o644 })
    await new HistoryFile(path).add('secret')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('remembers no blank lines', async () => {
    const path = join(folder, 'history')
    const history = new HistoryFile(path)
    await history.add('  ')
    expect(await history.read()).toEqual([])
  })

  it('keeps the newest thousand lines and cuts a file that has grown to twice as many', async () => {
    const path = join(folder, 'history')
    await writeFile(path, Array.from({ length: 2500 }, (_, index) => `line ${index}\n`).join(''))
    const lines = await new HistoryFile(path).read()
    expect(lines).toHaveLength(1000)
    expect(lines[0]).toBe('line 2499')
    expect((await readFile(path, 'utf8')).split('\n')).toHaveLength(1001)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('a place that cannot be written harms nobody', async () => {
    const blocked = join(folder, 'file')
    await writeFile(blocked, '')
    const history = new HistoryFile(join(blocked, 'history'))
    await history.add('lost')
    expect(await history.read()).toEqual([])
  })
})
