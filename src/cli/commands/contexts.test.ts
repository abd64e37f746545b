import { describe, expect, it } from 'vitest'
import type { ContextListing } from '../../pool/context-listing.ts'
import { createDesk } from '../test-desk.ts'
import { listContexts, removeContexts, showContext } from './contexts.ts'

const parked = (id: string, model: string): ContextListing => ({
  id,
  model,
  state: 'parked',
  tokens: 1690,
  bytes: 40 * 1024 ** 2,
  seconds: 8.8,
  idleFor: 60_000,
  kept: false,
})

const desk = (): ReturnType<typeof createDesk> => {
  const made = createDesk()
  made.yard.parked = [parked('context-1', 'a'), parked('context-2', 'b')]
  return made
}

describe('modelyard contexts', () => {
  it('list shows what is parked, what it takes and what it spares', async () => {
    const { context, out } = desk()
    await listContexts(context, {})
    expect(out().split('\n').slice(0, 2)).toEqual([
      'ID         MODEL  TOKENS    SIZE  SPARES  LAST USE',
      'context-1  a        1690  40 MiB   8.8 s     1 min',
    ])
  })

  it('list says so when nothing is', async () => {
    const { context, out, yard } = desk()
    yard.parked = []
    await listContexts(context, {})
    expect(out()).toBe('No contexts are parked.\n')
  })

  it('show tells of one, and what to do when there is none of that name', async () => {
    const { context, out } = desk()
    await showContext(context, 'context-2', {})
    expect(out()).toMatch(/model +b\n/)
    await expect(showContext(context, 'context-9', {})).rejects.toThrow('See: modelyard contexts list')
  })

  it.each([
    [['context-1'], {}, ['context-2']],
    [[], { model: 'b' }, ['context-1']],
    [[], { all: true }, []],
  ])('remove %j %j leaves %j', async (ids, options, left) => {
    const { context, yard } = desk()
    await removeContexts(context, ids, options)
    expect(yard.parked.map(({ id }) => id)).toEqual(left)
  })

  it('remove of one that is not there is an error and takes none of the others away', async () => {
    const { context, yard } = desk()
    await expect(removeContexts(context, ['context-1', 'context-9'], {})).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('No context "context-9" is parked; nothing was removed.') as string,
    })
    expect(yard.parked).toHaveLength(2)
  })

  it('remove without a word of what is meant removes nothing', async () => {
    const { context, yard } = desk()
    await expect(removeContexts(context, [], {})).rejects.toMatchObject({ code: 'invalid_request' })
    expect(yard.parked).toHaveLength(2)
  })
})
