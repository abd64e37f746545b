import { PassThrough } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { LineEditor, type Typed } from './line-editor.ts'
import type { KeyboardInput } from './keyboard.ts'

interface Desk {
  editor: LineEditor
  keys: PassThrough
  shown: () => string
  interrupt: ReturnType<typeof vi.fn>
  rawModes: boolean[]
  stop: AbortController
}

function sitDown({ terminal = true, history = [] as string[] } = {}): Desk {
  const rawModes: boolean[] = []
  const keys = new PassThrough()
  const input: KeyboardInput = Object.assign(keys, {
    isTTY: terminal,
    setRawMode: (raw: boolean) => rawModes.push(raw),
  })
  const output = new PassThrough()
  let shown = ''
  output.on('data', (data: Buffer) => (shown += data.toString()))
  const interrupt = vi.fn()
  const stop = new AbortController()
  const editor = new LineEditor({
    input,
    output,
    history,
    complete: (line) => [['/clear '].filter((name) => name.startsWith(line)), line],
    onInterrupt: interrupt,
    signal: stop.signal,
  })
  return { editor, keys, shown: () => shown, interrupt, rawModes, stop }
}

describe('LineEditor on a terminal', () => {
  it('reads one line after the other', async () => {
    const { editor, keys, shown } = sitDown()
    const first = editor.read('ask> ')
    keys.write('hello\r')
    expect(await first).toEqual({ type: 'line', text: 'hello', pasted: false })
    expect(shown()).toContain('ask> ')
    editor.close()
  })

  it('what is typed while an answer is written waits for the next prompt', async () => {
    const { editor, keys } = sitDown()
    editor.hold()
    keys.write('ahead\r')
    await vi.waitFor(() => expect(keys.readableLength).toBe(0), 20_000)
    expect(await editor.read('> ')).toEqual({ type: 'line', text: 'ahead', pasted: false })
    editor.close()
  })

  it('Ctrl-C while an answer is written stops it and drops what was typed ahead', async () => {
    const { editor, keys, interrupt } = sitDown()
    editor.hold()
    keys.write('old')
    keys.write('\u0003new\r')
    await vi.waitFor(() => expect(interrupt).toHaveBeenCalledOnce(), 20_000)
    expect(await editor.read('> ')).toMatchObject({ text: 'new' })
    editor.close()
  })

  it('Ctrl-C at the prompt empties the line and says whether anything was on it', async () => {
    const { editor, keys, interrupt } = sitDown()
    const begun = editor.read('> ')
    keys.write('half a thought\u0003')
    expect(await begun).toEqual({ type: 'interrupt', empty: false })
    const empty = editor.read('> ')
    keys.write('\u0003')
    expect(await empty).toEqual({ type: 'interrupt', empty: true })
    const next = editor.read('> ')
    keys.write('whole\r')
    expect(await next).toMatchObject({ text: 'whole' })
    expect(interrupt).not.toHaveBeenCalled()
    editor.close()
  })

  it('a pasted text of several lines does not send itself', async () => {
    const { editor, keys } = sitDown()
    const typed: Typed[] = []
    const first = editor.read('> ')
    keys.write('say \u001B[200~one\r\ntwo\nthr')
    keys.write('ee\u001B[201~!\r')
    typed.push(await first, await editor.read('> '), await editor.read('> '))
    expect(typed).toEqual([
      { type: 'line', text: 'say one', pasted: true },
      { type: 'line', text: 'two', pasted: true },
      { type: 'line', text: 'three!', pasted: false },
    ])
    editor.close()
  })

  it('the arrow up brings back the lines of earlier sessions', async () => {
    const { editor, keys } = sitDown({ history: ['newest', 'oldest'] })
    const line = editor.read('> ')
    keys.write('\u001B[A\u001B[A\r')
    expect(await line).toMatchObject({ text: 'oldest' })
    editor.close()
  })

  it('the tab key completes', async () => {
    const { editor, keys } = sitDown()
    const line = editor.read('> ')
    keys.write('/cl')
    keys.write('\t')
    await vi.waitFor(() => expect(keys.readableLength).toBe(0), 20_000)
    await new Promise((resolve) => process.nextTick(resolve))
    keys.write('\r')
    expect(await line).toMatchObject({ text: '/clear ' })
    editor.close()
  })

  it('Ctrl-D ends it, and the terminal is given back as it was', async () => {
    const { editor, keys, rawModes, shown } = sitDown()
    const line = editor.read('> ')
    keys.write('\u0004')
    expect(await line).toEqual({ type: 'end' })
    expect(await editor.read('> ')).toEqual({ type: 'end' })
    expect(rawModes).toEqual([true, false])
    expect(shown().endsWith('\u001B[?2004l')).toBe(true)
  })

  it('a signal from outside ends it too', async () => {
    const { editor, stop, rawModes } = sitDown()
    const line = editor.read('> ')
    stop.abort()
    expect(await line).toEqual({ type: 'end' })
    expect(rawModes.at(-1)).toBe(false)
  })
})

describe('LineEditor on a pipe', () => {
  it('gives every line and then the end, and shows no prompt', async () => {
    const { editor, keys, shown, rawModes } = sitDown({ terminal: false })
    keys.end('one\ntwo')
    const typed = [await editor.read('> '), await editor.read('> '), await editor.read('> ')]
    expect(typed.map((entry) => (entry.type === 'line' ? entry.text : entry.type))).toEqual([
      'one',
      'two',
      'end',
    ])
    expect(shown()).toBe('')
    expect(rawModes).toEqual([])
  })
})
