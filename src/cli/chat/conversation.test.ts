import { describe, expect, it } from 'vitest'
import { Conversation } from './conversation.ts'

describe('Conversation', () => {
  it('sends system text, earlier turns and the question, in this order', () => {
    const talk = new Conversation('m', 'Be brief.')
    talk.add('one', 'eins')
    expect(talk.messagesFor('two')).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'eins' },
      { role: 'user', content: 'two' },
    ])
  })

  it('an empty system text is sent: it suppresses the one of the template', () => {
    expect(new Conversation('m', '').messagesFor('hi')[0]).toEqual({ role: 'system', content: '' })
    expect(new Conversation('m').messagesFor('hi')).toHaveLength(1)
  })

  it('forgets a question that got no answer, so that turns go on alternating', () => {
    const talk = new Conversation('m')
    talk.add('lost', '')
    expect(talk.messagesFor('next')).toEqual([{ role: 'user', content: 'next' }])
  })

  it('clear keeps the system text', () => {
    const talk = new Conversation('m', 'Be brief.')
    talk.add('one', 'eins')
    talk.clear()
    expect(talk.messagesFor('two').map(({ content }) => content)).toEqual(['Be brief.', 'two'])
  })
})
