import { describe, expect, it } from 'vitest'
import { abortError, onAbort } from './abort.ts'
import { abortSignalOf, Cancellation } from './cancellation.ts'
import { ModelyardError } from './errors.ts'

const WHY = new ModelyardError('aborted', 'The client closed the connection.')

describe('a cancellation', () => {
  it('calls its listeners once, in order, with its reason known', () => {
    const cancellation = new Cancellation()
    const heard: unknown[] = []
    onAbort(cancellation, () => heard.push(['first', cancellation.aborted, cancellation.reason]))
    onAbort(cancellation, () => heard.push('second'))
    expect([cancellation.aborted, cancellation.reason]).toEqual([false, undefined])
    cancellation.abort(WHY)
    cancellation.abort(new Error('too late'))
    expect(heard).toEqual([['first', true, WHY], 'second'])
    expect(abortError(cancellation)).toBe(WHY)
  })

  it('whoever listens no more hears nothing, and whoever comes late hears at once', () => {
    const cancellation = new Cancellation()
    const heard: string[] = []
    onAbort(cancellation, () => heard.push('left'))()
    cancellation.abort(WHY)
    onAbort(cancellation, () => heard.push('late'))
    expect(heard).toEqual(['late'])
  })

  it('a listener may leave while it is called, and take another with it that was called already', () => {
    const cancellation = new Cancellation()
    const heard: string[] = []
    const unlisten = onAbort(cancellation, () => heard.push('first'))
    onAbort(cancellation, () => {
      unlisten()
      heard.push('second')
    })
    cancellation.abort(WHY)
    expect(heard).toEqual(['first', 'second'])
  })

  it('throws its reason when it is asked to', () => {
    const cancellation = new Cancellation()
    cancellation.throwIfAborted()
    cancellation.abort(WHY)
    expect(() => cancellation.throwIfAborted()).toThrow(WHY)
  })

  it.each(['before', 'after'])('is a signal for Node that was asked for %s it fired', (when) => {
    const cancellation = new Cancellation()
    if (when === 'before') abortSignalOf(cancellation)
    cancellation.abort(WHY)
    const signal = abortSignalOf(cancellation)
    expect([signal instanceof AbortSignal, signal.aborted, signal.reason]).toEqual([true, true, WHY])
  })

  it('leaves a signal of Node as it is', () => {
    const { signal } = new AbortController()
    expect(abortSignalOf(signal)).toBe(signal)
  })
})
