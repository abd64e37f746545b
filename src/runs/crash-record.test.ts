import { describe, expect, it } from 'vitest'
import { ManualClock } from '../base/clock.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import { CrashRecord } from './crash-record.ts'

function ask(content: string): ChatTask {
  return { kind: 'chat', messages: [{ role: 'user', content }], sampling: {}, stop: [] }
}

/** A worker that dies under these requests, which hear of it one after the other. */
function die(record: CrashRecord, instance: string, tasks: ChatTask[]): void {
  tasks.forEach(() => record.runStarted(instance))
  for (const task of tasks) {
    record.workerDied(instance, 'm', task)
    record.runEnded(instance)
  }
}

describe('which requests end workers (P16)', () => {
  it('knows one that was alone with two workers when they died', () => {
    const record = new CrashRecord(new ManualClock())
    die(record, 'm#1', [ask('bad')])
    expect(record.isPoison('m', ask('bad'))).toBe(false)
    die(record, 'm#2', [ask('bad')])
    expect(record.isPoison('m', ask('bad'))).toBe(true)
    expect(record.isPoison('m', ask('hi'))).toBe(false)
  })

  it('forgets after ten minutes: a killer from outside must not make a request refused for ever', () => {
    const clock = new ManualClock()
    const record = new CrashRecord(clock)
    die(record, 'm#1', [ask('hi')])
    die(record, 'm#2', [ask('hi')])
    clock.advance(10 * 60_000)
    expect(record.isPoison('m', ask('hi'))).toBe(true)
    clock.advance(1)
    expect(record.isPoison('m', ask('hi'))).toBe(false)
  })

  it('blames nobody who shared a worker, the last to hear of its death included: "hi" was refused for ever', () => {
    const record = new CrashRecord(new ManualClock())
    for (const instance of ['m#1', 'm#2', 'm#3']) die(record, instance, [ask('bad'), ask('hi')])
    expect(record.isPoison('m', ask('hi'))).toBe(false)
    expect(record.isPoison('m', ask('bad'))).toBe(false)
  })
})
