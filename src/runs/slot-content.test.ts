import { describe, expect, it } from 'vitest'
import { ModelyardError } from '../base/errors.ts'
import { fingerprintOf, fingerprintWithAnswer, sharedBeginning } from '../tasks/fingerprint.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import type { CompletionTask } from '../tasks/completion-task.ts'
import type { Result } from '../tasks/part.ts'
import type { Task } from '../tasks/task.ts'
import type { RunRequest } from './run.ts'
import { slotContent } from './slot-content.ts'

const CHAT: ChatTask = {
  kind: 'chat',
  messages: [{ role: 'user', content: 'hi' }],
  sampling: {},
  stop: [],
}
const COMPLETION: CompletionTask = {
  kind: 'completion',
  prompt: 'a'.repeat(1500),
  sampling: {},
  stop: [],
}
const RESULT: Result = {
  finishReason: 'stop',
  usage: { promptTokens: 9, cachedTokens: 0, completionTokens: 4, reasoningTokens: 1 },
  timings: { prefill: 12, decode: 34 },
}
const USAGE = { promptTokens: 9, cachedTokens: 0, completionTokens: 4, prefill: 12 }
const ANSWER = { role: 'assistant' as const, content: 'yes' }

const left = (task: Task, more: Partial<RunRequest> = {}): ReturnType<typeof slotContent> =>
  slotContent({ model: 'm', task, ...more }, fingerprintOf(task), { result: RESULT }, () => ANSWER)

describe('what a run leaves in its slot', () => {
  it('is a conversation with its answer', () => {
    const fingerprint = fingerprintWithAnswer(fingerprintOf(CHAT), ANSWER)
    expect(left(CHAT)).toEqual({ fingerprint, usage: USAGE })
  })

  it('is the prompt of a completion', () => {
    expect(left(COMPLETION)).toEqual({ fingerprint: fingerprintOf(COMPLETION), usage: USAGE })
  })

  it('is a beginning for its own sake where that was asked for: of a text no more than longer ones share', () => {
    expect(left(CHAT, { keep: true })).toEqual({
      fingerprint: sharedBeginning(CHAT),
      usage: USAGE,
      keep: true,
    })
    expect(left(COMPLETION, { keep: true }).fingerprint).toHaveLength(1)
  })

  it.each<[string, ReturnType<typeof slotContent>]>([
    ['that is kept for nobody', left(CHAT, { cache: 'none' })],
    ['of another kind', left({ kind: 'embedding', inputs: ['a'] })],
    [
      'that failed',
      slotContent(
        { model: 'm', task: CHAT },
        fingerprintOf(CHAT),
        { error: new ModelyardError('engine_failed', 'It broke.') },
        () => ANSWER,
      ),
    ],
  ])('is unknown after a run %s', (_, content) => {
    expect(content).toEqual({})
  })
})
