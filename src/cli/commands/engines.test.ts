import { afterEach, describe, expect, it, vi } from 'vitest'
import { createDesk } from '../test-desk.ts'
import { installEngineCommand, listEngines } from './engines.ts'

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

describe('modelyard engines install', () => {
  it.each([
    [{ jobs: 2 }, '--jobs is about compiling'],
    [{ define: ['GGML_CUDA=ON'] }, '--define is about compiling'],
  ])('%o without --from-source is refused', async (options, words) => {
    const { context } = createDesk()
    await expect(installEngineCommand(context, 'llama-server', options)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(words) as string,
    })
  })

  it('an engine that cannot be compiled is not fetched instead', async () => {
    const { context, err } = createDesk()
    await expect(installEngineCommand(context, 'mlx', { fromSource: true })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('only llama-server can') as string,
    })
    expect(err()).toBe('')
  })

  it('an engine that has no addition for images is not installed without it', async () => {
    const { context, err } = createDesk()
    await expect(installEngineCommand(context, 'llama-server', { vision: true })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('only mlx does') as string,
    })
    expect(err()).toBe('')
  })

  it('what is to be compiled needs the engine that carries its source, and is told so before anything is done', async () => {
    const { context, err } = createDesk()
    await expect(installEngineCommand(context, 'llama-server', { fromSource: true })).rejects.toMatchObject({
      code: 'engine_missing',
      message: expect.stringContaining('modelyard engines install node-llama-cpp') as string,
    })
    expect(err()).toBe('')
  })
})
