import { afterEach, describe, expect, it, vi } from 'vitest'
import { createDesk } from '../test-desk.ts'
import { listEngines } from './engines.ts'

afterEach(() => vi.unstubAllGlobals())

describe('modelyard engines list', () => {
  it('an engine without binaries for this platform is a row with the reason, and the others are listed', async () => {
    vi.stubGlobal('process', Object.create(process, { platform: { value: 'sunos' } }))
    const { context, out } = createDesk()
    await listEngines(context, {})
    expect(out()).toMatch(/^node-llama-cpp .*not possible here .*no ready-made binaries for sunos/m)
    expect(out()).toMatch(/^llama-server /m)
  })
})
