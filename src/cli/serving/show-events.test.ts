import { expect, it } from 'vitest'
import type { YardEvent } from '../../events/event-map.ts'
import { createDesk } from '../test-desk.ts'
import { showEvents } from './show-events.ts'

it('what the yard warned of before anybody listened is shown, not lost to whoever shows downloads', async () => {
  const { context, err } = createDesk()
  const data = { code: 'budget_empty', message: 'The budget of ram is 0 bytes.' }
  const early: YardEvent[] = [{ id: 1, at: 0, name: 'warning-raised', data }]
  const yard = {
    subscribe: (listener: (event: YardEvent) => void) => {
      for (const event of early.splice(0)) listener(event)
      return () => undefined
    },
  }
  showEvents(context, yard, false)()
  expect(err()).toBe('warning: The budget of ram is 0 bytes.\n')
})
