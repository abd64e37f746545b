import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import { createDesk, text, transcript } from '../test-desk.ts'
import { run } from './run.ts'

describe('modelyard run', () => {
  it('writes the answer alone to standard output, and a line end where it has none', async () => {
    const { context, yard, out, err } = createDesk()
    yard.answers.push({ parts: [text('Par'), text('is')] })
    await run(context, 'tiny', ['Where', 'is', 'it?'], {})
    expect(out()).toBe('Paris\n')
    expect(err()).toBe('')
    expect(transcript(yard.asked[0]?.messages ?? [])).toEqual(['user: Where is it?'])
    expect(yard.closed).toBe(1)
  })

  it('zero and the empty text are values (F27)', async () => {
    const { context, yard } = createDesk()
    await run(context, 'tiny', ['x'], { temperature: 0, seed: 0, maxTokens: 0, system: '' })
    expect(yard.asked[0]).toMatchObject({ sampling: { temperature: 0, seed: 0 }, maxTokens: 0 })
    expect(transcript(yard.asked[0]?.messages ?? [])).toEqual(['system: ', 'user: x'])
  })

  it('leaves out what was not asked for: the model has its own defaults', async () => {
    const { context, yard } = createDesk()
    await run(context, 'tiny', ['x'], {})
    expect(yard.asked[0]?.sampling).toEqual({})
    expect(yard.asked[0]).not.toHaveProperty('maxTokens')
  })

  it('reads the prompt from a pipe', async () => {
    const { context, yard, stdin } = createDesk()
    stdin.end(Buffer.from('zwei\nZeilen ü\n'))
    await run(context, 'tiny', [], {})
    expect(transcript(yard.asked[0]?.messages ?? [])).toEqual(['user: zwei\nZeilen ü'])
  })

  it('a dash puts the pipe between the words', async () => {
    const { context, yard, stdin } = createDesk()
    stdin.end('notes')
    await run(context, 'tiny', ['Sum', 'up:', '-', 'Briefly.'], {})
    expect(transcript(yard.asked[0]?.messages ?? [])).toEqual(['user: Sum up:\n\nnotes\n\nBriefly.'])
  })

  it('with words it does not wait for a pipe that nobody closes', async () => {
    const { context, yard } = createDesk()
    await run(context, 'tiny', ['x'], {})
    expect(yard.asked).toHaveLength(1)
  })

  it('an empty pipe is an error that says so, before any yard is opened', async () => {
    const { context, stdin, yard } = createDesk()
    stdin.end('\n')
    await expect(run(context, 'tiny', [], {})).rejects.toMatchObject({ code: 'invalid_request' })
    expect(yard.closed).toBe(0)
  })

  it('a prompt that is missing on a terminal points to chat', async () => {
    const { context, stdin } = createDesk()
    Object.assign(stdin, { isTTY: true })
    await expect(run(context, 'tiny', [], {})).rejects.toThrow('modelyard chat')
  })

  it('--json prints the whole answer with its counts', async () => {
    const { context, yard, out } = createDesk()
    yard.answers.push({
      parts: [
        { type: 'reasoning', text: 'hm' },
        text('yes'),
        { type: 'tool-call', index: 0, id: 'a', name: 'look' },
        { type: 'tool-call-arguments', index: 0, text: '{}' },
      ],
    })
    await run(context, 'tiny', ['x'], { json: true })
    expect(JSON.parse(out())).toMatchObject({
      model: 'tiny',
      text: 'yes',
      reasoning: 'hm',
      toolCalls: [{ name: 'look', arguments: '{}' }],
      finishReason: 'stop',
      usage: { promptTokens: 3, completionTokens: 2 },
    })
  })

  it('--verbose tells the numbers on standard error', async () => {
    const { context, yard, out, err } = createDesk()
    yard.answers.push({
      parts: [text('yes')],
      summary: { timings: { prefill: 100, decode: 500 }, queueMs: 5, loadMs: 4, instance: 'tiny#1' },
    })
    await run(context, 'tiny', ['x'], { verbose: true })
    expect(out()).toBe('yes\n')
    expect(err()).toContain('model tiny on tiny#1, ended by stop')
    expect(err()).toContain('answer 2 tokens in 500 ms, 4 tokens/s')
  })

  it('a failure in the middle ends the line and comes out as itself; the yard is closed', async () => {
    const { context, yard, out } = createDesk()
    yard.answers.push({ parts: [text('half')], error: new ModelyardError('worker_exited', 'It died.') })
    await expect(run(context, 'tiny', ['x'], {})).rejects.toMatchObject({ code: 'worker_exited' })
    expect(out()).toBe('half\n')
    expect(yard.closed).toBe(1)
  })

  it('an interrupt ends it', async () => {
    const { context, yard, interrupt } = createDesk()
    yard.answers.push({ parts: [text('half')], hangs: true })
    const done = run(context, 'tiny', ['x'], {})
    interrupt.abort(new ModelyardError('aborted', 'Interrupted.'))
    await expect(done).rejects.toMatchObject({ code: 'aborted' })
    expect(yard.closed).toBe(1)
  })
})
