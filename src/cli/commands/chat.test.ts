import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../../base/errors.ts'
import { createDesk, text, transcript } from '../test-desk.ts'
import { chat } from './chat.ts'

// On a pipe; the terminal has its own test in test/cli/chat-terminal.test.ts.
describe('modelyard chat', () => {
  it('every line is a message and the conversation goes on', async () => {
    const { context, yard, stdin, out } = createDesk()
    yard.answers.push({ parts: [text('eins')] }, { parts: [text('zwei')] })
    stdin.end('one\ntwo\n')
    await chat(context, 'tiny', {})
    expect(out()).toBe('eins\nzwei\n')
    expect(transcript(yard.asked[1]?.messages ?? [])).toEqual(['user: one', 'assistant: eins', 'user: two'])
    expect(yard.closed).toBe(1)
  })

  it('/clear forgets, /system and /model change what is asked', async () => {
    const { context, yard, stdin } = createDesk()
    yard.answers.push({ parts: [text('eins')] })
    stdin.end('one\n/clear\n/system Be brief.\n/model other\ntwo\n/system none\nthree\n')
    await chat(context, 'tiny', {})
    expect(transcript(yard.asked[1]?.messages ?? [])).toEqual(['system: Be brief.', 'user: two'])
    expect(yard.asked[1]?.model).toBe('other')
    expect(transcript(yard.asked[2]?.messages ?? [])).toEqual(['user: three'])
  })

  it('/model to an unknown one is told, and the old one goes on answering', async () => {
    const { context, yard, stdin, err } = createDesk()
    stdin.end('/model nobody\nhello\n')
    await chat(context, 'tiny', {})
    expect(err()).toContain('There is no model "nobody".')
    expect(yard.asked[0]?.model).toBe('tiny')
  })

  it('an unknown model at the start is an error, not a conversation', async () => {
    const { context, yard } = createDesk()
    await expect(chat(context, 'nobody', {})).rejects.toMatchObject({ code: 'model_not_found' })
    expect(yard.closed).toBe(1)
  })

  it('/exit leaves before the lines that follow; an unknown command is not sent to the model', async () => {
    const { context, yard, stdin, out } = createDesk()
    stdin.end('/hlep\n/exit\nnever\n')
    await chat(context, 'tiny', {})
    expect(out()).toContain('Did you mean /help?')
    expect(yard.asked).toEqual([])
  })

  it('a failed answer is told and forgotten, and the chat goes on', async () => {
    const { context, yard, stdin, out, err } = createDesk()
    yard.answers.push(
      { parts: [text('half')], error: new ModelyardError('worker_exited', 'It died.') },
      { parts: [text('whole')] },
    )
    stdin.end('one\ntwo\n')
    await chat(context, 'tiny', {})
    expect(err()).toContain('error: It died.')
    expect(out()).toBe('half\nwhole\n')
    expect(transcript(yard.asked[1]?.messages ?? [])).toEqual(['user: two'])
  })

  it('an answer that ran into its limit says so beside it, and the lines that follow are obeyed', async () => {
    const { context, yard, stdin, out, err } = createDesk()
    yard.answers.push({ parts: [text('on and on')], summary: { finishReason: 'length' } })
    stdin.end('hi\n/model\n/exit\n')
    await chat(context, 'tiny', {})
    expect(out()).toBe('on and on\ntiny answers.\n')
    expect(err()).toContain('The answer was cut after 2 tokens')
  })

  it('reasoning and tool calls are shown', async () => {
    const { context, yard, stdin, out } = createDesk()
    yard.answers.push({
      parts: [
        { type: 'reasoning', text: 'let me see' },
        text('done'),
        { type: 'tool-call', index: 0, id: 'a', name: 'look' },
        { type: 'tool-call-arguments', index: 0, text: '{"at":1}' },
      ],
    })
    stdin.end('x\n')
    await chat(context, 'tiny', {})
    expect(out()).toBe('let me see\n\ndone\n[calls look({"at":1})]\n')
  })
})
