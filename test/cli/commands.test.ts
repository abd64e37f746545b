import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SCRIPTED_MODELS } from './scripted-models.ts'
import { CLI, TestHome } from './program.ts'
import { TINY_CHAT } from '../models/paths.ts'

let home: TestHome
beforeEach(async () => {
  home = await TestHome.create({ models: SCRIPTED_MODELS })
})
afterEach(async () => await home.remove())

function errorOf(err: string): { code: string; exitCode: number; message: string } {
  return (JSON.parse(err) as { error: { code: string; exitCode: number; message: string } }).error
}

describe('commands without a server', () => {
  it('run has a yard of its own, prints the answer alone and gives the home back', async () => {
    const { code, out, err } = await home.run(['run', 'fake', 'Say', 'hello.'])
    expect({ code, out, err }).toEqual({ code: 0, out: 'Hello there\n', err: '' })
    expect(await home.run(['run', 'fake', 'Again.'])).toMatchObject({ code: 0, out: 'Hello there\n' })
  })

  it.skipIf(!existsSync('/dev/full'))(
    'a full disk under the output is one sentence and an exit code of its own',
    async () => {
      const words = ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, CLI, 'list']
      const child = spawn('/bin/sh', words, {
        cwd: home.path,
        env: { ...process.env, MODELYARD_HOME: home.path },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let err = ''
      child.stderr.on('data', (data: Buffer) => (err += data.toString()))
      const code = await new Promise<number | null>((settle) => child.once('close', settle))
      expect([code, err]).toEqual([
        7,
        expect.stringMatching(
          /^error: The output could not be written \(ENOSPC.*\), and what is there is not whole\.\n$/,
        ),
      ])
    },
  )

  it('run reads its prompt from a pipe', async () => {
    const { out } = await home.run(['run', 'fake', 'please', 'say it back:', '-'], {
      input: 'from the pipe\n',
    })
    expect(out).toBe('please say it back:\n\nfrom the pipe\n')
  })

  it('run with a prompt does not wait for an input that nobody closes', async () => {
    const { code, out } = await home.run(['run', 'fake', 'hi'], { openInput: true })
    expect({ code, out }).toEqual({ code: 0, out: 'Hello there\n' })
  })

  it.each([false, true])(
    'chat on a pipe ends with /exit by itself, also where the input stays open (%s)',
    async (openInput) => {
      const { code, out } = await home.run(['chat', 'fake'], { input: 'hi\n/model\n/exit\n', openInput })
      expect({ code, out }).toEqual({ code: 0, out: 'Hello there\nfake answers.\n' })
    },
  )

  it('run --json prints one document with text, tool calls, counts and times', async () => {
    const { code, out } = await home.run(['run', 'fake', '--json', "what's the weather"])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      model: 'fake',
      text: '',
      toolCalls: [{ name: 'weather', arguments: '{"city":"Rome"}' }],
      finishReason: 'tool-calls',
      usage: { promptTokens: expect.any(Number) as number },
      timings: { prefill: expect.any(Number) as number },
    })
  })

  it('run --verbose tells the numbers on standard error only', async () => {
    const { out, err } = await home.run(['run', 'fake', '--verbose', 'think'])
    expect(out).toBe('thought\n')
    expect(err).toContain('let me see')
    expect(err).toMatch(/answer \d+ tokens/)
  })

  it('--max-tokens 0 generates nothing and is no error', async () => {
    const { code, out } = await home.run(['run', 'fake', '--max-tokens', '0', '--json', 'hi'])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ text: '', finishReason: 'length' })
  })

  it('two at once: the second waits for the home and then works', async () => {
    const first = home.start(['run', 'fake', 'slowly'])
    await first.shows('one')
    // However long the second takes to start, the first one is there until then.
    first.kill('SIGSTOP')
    const second = home.start(['run', 'fake', 'hi'])
    await second.tells(`Process ${first.pid} uses the home`)
    expect(second.out()).toBe('')
    first.kill('SIGCONT')
    expect(await second.ended).toMatchObject({ code: 0, out: 'Hello there\n' })
    expect(await first.ended).toMatchObject({ code: 0 })
  })

  it('list, ps and plan work, as tables and as JSON', async () => {
    expect((await home.run(['list'])).out).toMatch(/^MODEL .*\nfake +unloaded +– +scripted +– +512 +faker$/m)
    expect(JSON.parse((await home.run(['list', '--json'])).out)).toMatchObject([
      { id: 'fake' },
      { id: 'other' },
      {},
      {},
      {},
    ])
    expect((await home.run(['ps'])).out).toMatch(/No model is in memory\.\n\nram: 0 B of .* budget in use/)
    expect(JSON.parse((await home.run(['ps', '--json'])).out)).toMatchObject({ instances: [], queue: [] })
    expect((await home.run(['plan', 'faker'])).out).toMatch(/outcome +it fits/)
    expect(JSON.parse((await home.run(['plan', 'fake', '--json'])).out)).toMatchObject({
      model: 'fake',
      outcome: 'fits',
    })
  })

  it('bench measures a model, in numbers', async () => {
    const { code, out } = await home.run(['bench', 'fake', '--rounds', '2', '--parallel', '2', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ model: 'fake', rounds: 2, parallel: 2 })
    const { firstToken, completionTokens } = JSON.parse(out) as Record<
      string,
      { median: number; most: number }
    >
    expect(firstToken?.most).toBeGreaterThan(0)
    expect(completionTokens?.median).toBeGreaterThan(0)
    expect((await home.run(['bench', 'nobody'])).code).toBe(3)
    expect((await home.run(['bench', 'fake', '--rounds', '0'])).code).toBe(2)
  })

  it('show tells what is known of a model', async () => {
    expect((await home.run(['show', 'faker'])).out).toMatch(/^model +fake$/m)
    expect(JSON.parse((await home.run(['show', 'fake', '--json'])).out)).toMatchObject({
      id: 'fake',
      aliases: ['faker'],
      path: null,
    })
  })

  it('load and unload want a server and say so', async () => {
    const { code, err } = await home.run(['load', 'fake'])
    expect(code).toBe(2)
    expect(err).toContain('modelyard serve')
  })

  it('the version comes at once', async () => {
    const { out } = await home.run(['--version'])
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('a reader that goes away is no error', async () => {
    const program = home.start(['run', 'fake', 'slowly'])
    await program.shows('one')
    program.closeOutput()
    expect(await program.ended).toMatchObject({ code: 0, err: '' })
  })
})

describe('exit codes and errors in words and as JSON', () => {
  it.each([
    ['an unknown command', ['lits'], 2, 'invalid_request', 'Did you mean list?'],
    ['an unknown option', ['ps', '--jsn'], 2, 'invalid_request', 'Did you mean --json?'],
    ['an unknown model', ['run', 'fak', 'x'], 3, 'model_not_found', 'fake'],
    ['a model that never fits', ['run', 'huge', 'x'], 4, 'model_too_large', 'TiB'],
    ['a plan that never fits', ['plan', 'huge'], 4, undefined, ''],
    ['a model that cannot be loaded', ['run', 'broken', 'x'], 6, 'model_load_failed', 'cake recipe'],
    ['an answer that breaks off', ['run', 'fake', 'break'], 1, 'engine_failed', 'The script broke here.'],
    ['a prompt that is too long', ['run', 'fake', 'word '.repeat(600)], 2, 'context_length_exceeded', '512'],
    [
      'an engine that is not here',
      ['run', TINY_CHAT, 'x', '--no-install'],
      5,
      'engine_missing',
      'engines install',
    ],
    ['nothing to remove', ['remove', 'minilm'], 3, 'model_not_found', 'nothing to remove'],
  ])('%s', async (_, words, exitCode, code, hint) => {
    const plain = await home.run(words)
    expect(plain).toMatchObject({ code: exitCode })
    const json = await home.run([...words, '--json'])
    expect(json.code).toBe(exitCode)
    if (code === undefined) return
    expect(plain.err).toMatch(/^error: /)
    expect(plain.err).toContain(hint)
    expect(errorOf(json.err)).toMatchObject({ code, exitCode })
  })

  it.each([
    ['run', ['hi', '--no-install']],
    ['chat', ['--no-install']],
    ['bench', ['--no-install']],
    ['serve', ['--no-install']],
    ['plan', []],
  ])('%s of a file that is not there says so before an engine is asked for', async (command, words) => {
    // An engine that must not be installed stands for one that would be.
    const { code, err } = await home.run([command, './nothere.gguf', ...words])
    expect(err).toMatch(/There is no file .*nothere\.gguf\./)
    expect(code).toBe(3)
  })

  it('a mistake in the configuration is told with its place', async () => {
    await home.configure({ models: { fake: { engine: 'scripted', slot: 3 } } })
    const { code, err } = await home.run(['list'])
    expect(code).toBe(2)
    expect(err).toMatch(/modelyard\.yaml:5:\d+: .*slot/)
    expect(err).toContain('slots')
  })

  it('Ctrl-C stops an answer: what came is on the screen, the exit code says how it ended', async () => {
    const program = home.start(['run', 'fake', 'slowly'])
    await program.shows('one')
    program.kill('SIGINT')
    const { code, out } = await program.ended
    expect(code).toBe(130)
    expect(out).toMatch(/^one.*\n$/)
    expect(await home.run(['run', 'fake', 'hi'])).toMatchObject({ code: 0 })
  })

  it('doctor looks at everything, and a configuration that is wrong makes it exit with 1', async () => {
    const { code, out } = await home.run(['doctor', '--json', '--port', '0'])
    const checks = JSON.parse(out) as { name: string; status: string }[]
    expect(checks.map(({ name }) => name)).toEqual([
      'node',
      'engine',
      'llama-server',
      'processor',
      'memory',
      'pressure',
      'gpu',
      'budget',
      'home',
      'database',
      'models',
      'sources',
      'logs',
      'configuration',
      'server',
      'port',
      'npm',
      'pip',
    ])
    expect({ code, problems: checks.filter(({ status }) => status === 'problem') }).toEqual({
      code: 0,
      problems: [],
    })
    await home.configure({ modles: {} })
    const wrong = await home.run(['doctor'])
    expect(wrong.code).toBe(1)
    expect(wrong.out).toMatch(/problem +configuration .*modles/)
  })
})
