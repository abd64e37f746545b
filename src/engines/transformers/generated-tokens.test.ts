import { describe, expect, it } from 'vitest'
import { generatedTokens } from './generated-tokens.ts'

describe('tokens of a generation', () => {
  it('come in their order, those that came at once and those that were waited for', async () => {
    let tell: (token: number) => void = () => undefined
    let end: () => void = () => undefined
    const tokens = generatedTokens(async (onToken) => {
      tell = onToken
      onToken(1)
      onToken(2)
      await new Promise<void>((resolve) => (end = resolve))
    })
    expect([(await tokens.next()).value, (await tokens.next()).value]).toEqual([1, 2])
    const next = tokens.next()
    tell(0)
    expect(await next).toEqual({ done: false, value: 0 })
    const last = tokens.next()
    end()
    expect(await last).toEqual({ done: true, value: undefined })
  })

  it('a failure is thrown after what came before it', async () => {
    const seen: number[] = []
    const reading = (async () => {
      const failing = async (onToken: (token: number) => void): Promise<void> => {
        onToken(7)
        return Promise.reject(new Error('broken'))
      }
      for await (const token of generatedTokens(failing)) seen.push(token)
    })()
    await expect(reading).rejects.toThrow('broken')
    expect(seen).toEqual([7])
  })

  it('whoever stops reading waits until the generation has ended', async () => {
    let isEnded = false
    let end: () => void = () => undefined
    const tokens = generatedTokens(async (onToken) => {
      onToken(1)
      await new Promise<void>((resolve) => (end = resolve))
      await new Promise((resolve) => setImmediate(resolve))
      isEnded = true
    })
    await tokens.next()
    const stopped = tokens.return(undefined)
    end()
    await stopped
    expect(isEnded).toBe(true)
  })
})
