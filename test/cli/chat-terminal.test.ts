import { spawn } from 'node:child_process'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CLI, TestHome } from './program.ts'
import { SCRIPTED_MODELS } from './scripted-models.ts'

type Step = { expect: string } | { send: string } | { signal: string } | { end: true }

interface Session {
  output: string
  exit: number | null
  failed: Step | null
}

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const UP = '\u001B[A'

/** A pseudo-terminal needs Python's `pty`: there is none on Windows. */
describe.skipIf(process.platform === 'win32')('modelyard chat on a terminal', () => {
  let home: TestHome
  beforeEach(async () => {
    home = await TestHome.create({ models: SCRIPTED_MODELS })
  })
  afterEach(async () => await home.remove())

  async function chat(steps: Step[], words: string[] = [], environment: object = {}): Promise<Session> {
    const script = {
      command: [process.execPath, CLI, 'chat', 'fake', ...words],
      environment: { MODELYARD_HOME: home.path, TERM: 'xterm', NO_COLOR: '1', ...environment },
      steps,
    }
    const driver = spawn('python3', [join(import.meta.dirname, 'pty-driver.py')], { cwd: home.path })
    driver.stdin.end(JSON.stringify(script))
    let [out, err] = ['', '']
    driver.stdout.on('data', (data: Buffer) => (out += data.toString()))
    driver.stderr.on('data', (data: Buffer) => (err += data.toString()))
    await new Promise((resolve) => driver.once('close', resolve))
    if (err !== '') throw new Error(err)
    const session = JSON.parse(out) as Session
    expect({ failed: session.failed, output: session.failed === null ? '' : session.output }).toEqual({
      failed: null,
      output: '',
    })
    return session
  }

  it('greets, answers as it comes, and Ctrl-D leaves', async () => {
    const { exit, output } = await chat([
      { expect: 'fake> ' },
      { send: 'hi\r' },
      { expect: 'Hello there' },
      { expect: 'fake> ' },
      { send: CTRL_D },
      { end: true },
    ])
    expect(exit).toBe(0)
    expect(output).toContain('/help')
  })

  it('Ctrl-C stops the answer and not the program, and what came of it stays in the conversation', async () => {
    const { exit, output } = await chat([
      { expect: 'fake> ' },
      { send: 'slowly\r' },
      { expect: 'two' },
      { send: CTRL_C },
      { expect: '(stopped)' },
      { expect: 'fake> ' },
      { send: 'say it all\r' },
      { expect: 'slowly one two' },
      { expect: 'fake> ' },
      { send: '/exit\r' },
      { end: true },
    ])
    expect(exit).toBe(0)
    expect(output).not.toContain('ten')
  })

  it('Ctrl-C twice at an empty prompt leaves; once drops the line', async () => {
    const { exit, output } = await chat([
      { expect: 'fake> ' },
      { send: 'half a thought' },
      { expect: 'half a thought' },
      { send: CTRL_C },
      { expect: '^C' },
      { expect: 'fake> ' },
      { send: CTRL_C },
      { expect: 'Ctrl-C again leaves' },
      { expect: 'fake> ' },
      { send: CTRL_C },
      { end: true },
    ])
    expect(exit).toBe(0)
    expect(output).not.toContain('Hello')
  })

  it('messages of several lines: backslash, three quotes and pasted text', async () => {
    const { exit } = await chat([
      { expect: 'fake> ' },
      { send: 'say it back\\\r' },
      { expect: '… ' },
      { send: 'second line\r' },
      { expect: 'say it back\r\nsecond line' },
      { expect: 'fake> ' },
      { send: '"""\rsay it back, block\r\r/clear\r"""\r' },
      { expect: 'say it back, block\r\n\r\n/clear' },
      { expect: 'fake> ' },
      { send: '\u001B[200~say it back, pasted\n/exit\nend\u001B[201~' },
      { expect: 'end' },
      { send: '\r' },
      { expect: 'say it back, pasted\r\n/exit\r\nend' },
      { expect: 'fake> ' },
      { send: CTRL_D },
      { end: true },
    ])
    expect(exit).toBe(0)
  })

  it('/model, /system and /clear do what they say', async () => {
    const { exit } = await chat([
      { expect: 'fake> ' },
      { send: 'my secret is 4711\r' },
      { expect: 'Hello there' },
      { send: '/system Always rhyme.\r' },
      { expect: 'The system text is set.' },
      { send: 'say it all\r' },
      { expect: 'Always rhyme. my secret is 4711 Hello there say it all' },
      { expect: 'fake> ' },
      { send: '/clear\r' },
      { expect: 'forgotten' },
      { expect: 'fake> ' },
      { send: '/model nobody\r' },
      { expect: 'error: ' },
      { send: '/model other\r' },
      { expect: 'other answers from here on.' },
      { expect: 'other> ' },
      { send: 'hi\r' },
      { expect: 'other\r\n' },
      { send: '/model fake\r' },
      { expect: 'fake> ' },
      { send: 'say it all\r' },
      { expect: 'Always rhyme. hi other say it all' },
      { expect: 'fake> ' },
      { send: CTRL_D },
      { end: true },
    ])
    expect(exit).toBe(0)
  })

  it('/clear really forgets: what was said before is not sent any more', async () => {
    const { output } = await chat([
      { expect: 'fake> ' },
      { send: 'my secret is 4711\r' },
      { expect: 'Hello there' },
      { send: '/clear\r' },
      { expect: 'forgotten' },
      { send: 'say it all\r' },
      { expect: 'say it all' },
      { expect: 'fake> ' },
      { send: CTRL_D },
      { end: true },
    ])
    expect(output.slice(output.indexOf('forgotten'))).not.toContain('4711')
  })

  it('lines of an earlier chat come back with the arrow up, from a file that its owner alone can read', async () => {
    await chat([
      { expect: 'fake> ' },
      { send: 'what was it again\r' },
      { expect: 'Hello' },
      { send: CTRL_D },
      { end: true },
    ])
    const path = join(home.path, 'chat-history')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readFile(path, 'utf8')).toBe('what was it again\n')
    await chat([
      { expect: 'fake> ' },
      { send: UP },
      { expect: 'what was it again' },
      { send: '\r' },
      { expect: 'Hello there' },
      { send: CTRL_D },
      { end: true },
    ])
  })

  it('--no-history neither reads nor writes', async () => {
    const path = join(home.path, 'chat-history')
    await writeFile(path, 'older line\n')
    const { output } = await chat(
      [
        { expect: 'fake> ' },
        { send: `${UP}new line\r` },
        { expect: 'Hello there' },
        { send: CTRL_D },
        { end: true },
      ],
      ['--no-history'],
    )
    expect(output).not.toContain('older line')
    expect(await readFile(path, 'utf8')).toBe('older line\n')
  })

  it('tab completes commands and names of models', async () => {
    const { exit } = await chat([
      { expect: 'fake> ' },
      { send: '/mo\t' },
      { expect: '/model ' },
      { send: 'oth\t' },
      { expect: 'other' },
      { send: '\r' },
      { expect: 'other> ' },
      { send: CTRL_D },
      { end: true },
    ])
    expect(exit).toBe(0)
  })

  it('what is typed while an answer is written waits for the next prompt', async () => {
    const { exit } = await chat([
      { expect: 'fake> ' },
      { send: 'slowly\r' },
      { expect: 'one' },
      { send: 'hi\r' },
      { expect: 'ten' },
      { expect: 'Hello there' },
      { send: CTRL_D },
      { end: true },
    ])
    expect(exit).toBe(0)
  })

  it("a model's escape sequences are shown, not obeyed", async () => {
    const { output } = await chat([
      { expect: 'fake> ' },
      { send: 'escape\r' },
      { expect: '␛[2Jclear' },
      { expect: 'fake> ' },
      { send: CTRL_D },
      { end: true },
    ])
    expect(output).not.toContain('\u001B[2J')
  })

  it('a SIGTERM gives the terminal back as it was', async () => {
    const { exit, output } = await chat([{ expect: 'fake> ' }, { signal: 'SIGTERM' }, { end: true }])
    expect(exit).toBe(143)
    expect(output).toContain('\u001B[?2004l')
  })

  it('colours are there on a terminal, and NO_COLOR takes them away', async () => {
    const steps: Step[] = [{ expect: 'fake' }, { expect: '> ' }, { send: CTRL_D }, { end: true }]
    const plain = await chat(steps)
    const colourful = await chat(steps, [], { NO_COLOR: '' })
    expect(plain.output).not.toContain('\u001B[36m')
    expect(colourful.output).toContain('\u001B[36mfake')
  })
})
