import { describe, expect, it } from 'vitest'
import { createDesk } from '../test-desk.ts'
import { logs } from './logs.ts'

describe('modelyard logs', () => {
  it('writes what comes as it comes', async () => {
    const { context, out, yard } = createDesk()
    yard.logLines = ['one\ntw', 'o\nlast']
    await logs(context, 'tiny', {})
    expect(out()).toBe('one\ntwo\nlast')
  })

  it('--json has a document for each line, wherever the pieces end', async () => {
    const { context, out, yard } = createDesk()
    yard.logLines = ['one\ntw', 'o\n\n', 'a "last"']
    await logs(context, 'tiny', { json: true })
    expect(out()).toBe('{"line":"one"}\n{"line":"two"}\n{"line":""}\n{"line":"a \\"last\\""}\n')
  })

  it('--json of an empty log is nothing', async () => {
    const { context, out } = createDesk()
    await logs(context, 'tiny', { json: true })
    expect(out()).toBe('')
  })
})
