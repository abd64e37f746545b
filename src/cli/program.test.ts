import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import { yardDirectories } from '../config/directories.ts'
import type { CommandContext } from './command-context.ts'
import { Output } from './output.ts'
import { runProgram } from './program.ts'

function desk(): { context: CommandContext; printed: () => string } {
  const stream = new PassThrough()
  let text = ''
  stream.on('data', (data: Buffer) => (text += data.toString()))
  const context: CommandContext = {
    stdin: new PassThrough(),
    out: new Output(stream),
    err: new Output(new PassThrough()),
    clock: new ManualClock(),
    environment: {},
    directories: yardDirectories({ MODELYARD_HOME: '/nowhere' }, '/'),
    signal: new AbortController().signal,
    openYard: () => Promise.reject(new Error('no yard here')),
  }
  return { context, printed: () => text }
}

const COMMANDS = [
  'serve',
  'run',
  'bench',
  'chat',
  'transcribe',
  'speak',
  'draw',
  'pull',
  'list',
  'show',
  'remove',
  'ps',
  'load',
  'unload',
  'plan',
  'warm',
  'contexts list',
  'contexts show',
  'contexts remove',
  'simulate',
  'settings',
  'settings get',
  'settings set',
  'settings reset',
  'pin',
  'unpin',
  'why',
  'logs',
  'events',
  'doctor',
  'engines list',
  'engines install',
  'engines remove',
]

/** Whose output is a conversation, a sound or a picture. */
const WITHOUT_DOCUMENT = new Set(['chat', 'speak', 'draw'])

describe('the command line (C1)', () => {
  it('without words it shows what there is', async () => {
    const { context, printed } = desk()
    expect(await runProgram(context, [])).toBeUndefined()
    for (const command of COMMANDS) expect(printed()).toContain(command.split(' ')[0])
  })

  it('a group without a command shows what is in it', async () => {
    const { context, printed } = desk()
    expect(await runProgram(context, ['engines'])).toBeUndefined()
    expect(printed()).toMatch(/install \[options\] \[ENGINE\]/)
  })

  it.each([...COMMANDS, 'contexts', 'engines'])('%s --help has examples', async (command) => {
    const { context, printed } = desk()
    expect(await runProgram(context, [...command.split(' '), '--help'])).toBeUndefined()
    expect(printed()).toContain('Examples:\n  modelyard')
  })

  it('an example of an answer that is the same each time has an end, also where the model finds none', async () => {
    const { context, printed } = desk()
    await runProgram(context, ['run', '--help'])
    expect(printed()).toMatch(/modelyard run .*--temperature 0 --max-tokens 50 /)
  })

  it.each(COMMANDS.filter((command) => !WITHOUT_DOCUMENT.has(command)))('%s has --json', async (command) => {
    const { context, printed } = desk()
    await runProgram(context, [...command.split(' '), '--help'])
    expect(printed()).toMatch(/^ +--json /m)
  })

  it.each([
    [['sreve'], /^unknown command 'sreve' \(Did you mean serve\?\) See modelyard --help$/],
    [['ps', '--jsno'], /^unknown option '--jsno' \(Did you mean --json\?\) See modelyard ps --help$/],
    [['run'], /^missing required argument 'MODEL'\. See modelyard run --help$/],
    [
      ['engines', 'install', 'llama-server', '--from-source', '--jobs', '0'],
      /'0' is invalid\. It must be a whole number from 1 up\. See modelyard engines install --help$/,
    ],
    [['engines', 'sreve'], /See modelyard engines --help$/],
    [['ps', 'extra'], /too many arguments/],
    [['serve', '--port', '65536'], /It must be a port from 0 \(any free one\) to 65535/],
    [['run', 'm', 'x', '--temperature', '-1'], /It must be a number from 0/],
    [['run', 'm', 'x', '--temperature', ''], /It must be a number from 0/],
    [['run', 'm', 'x', '--max-tokens', '1.5'], /It must be a whole number/],
    [['run', 'm', 'x', '--seed', '4294967296'], /It must be a whole number/],
  ])('%j is answered with what to do instead', async (words, message) => {
    await expect(runProgram(desk().context, words)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(message) as string,
    })
  })
})
