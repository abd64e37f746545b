import { describe, expect, it } from 'vitest'
import { chatHelp, completeChatLine, findChatCommand, unknownChatCommand } from './chat-commands.ts'

describe('chat commands', () => {
  it('are found by name and by the names other programs use', () => {
    expect(findChatCommand('clear')).toBe('clear')
    expect(findChatCommand('bye')).toBe('exit')
    expect(findChatCommand('toString')).toBeUndefined()
  })

  it('a mistyped one is answered with the nearest', () => {
    expect(unknownChatCommand('clera')).toContain('Did you mean /clear?')
    expect(unknownChatCommand('xxxxxxxx')).not.toContain('Did you mean')
  })

  it('help names every one of them', () => {
    for (const name of ['/model', '/system', '/clear', '/help', '/exit']) expect(chatHelp()).toContain(name)
  })

  it('begun commands and model names are completed, plain text is not', () => {
    expect(completeChatLine('/mo', [])).toEqual([['/model '], '/mo'])
    expect(completeChatLine('/', [])[0]).toHaveLength(5)
    expect(completeChatLine('/model sm', ['smollm2', 'tiny', 'small/one'])).toEqual([
      ['smollm2', 'small/one'],
      'sm',
    ])
    expect(completeChatLine('say sm', ['smollm2'])).toEqual([[], 'say sm'])
  })
})
