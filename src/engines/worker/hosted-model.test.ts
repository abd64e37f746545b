import { expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import type { LoadedModel } from '../engine.ts'
import { HostedModel } from './hosted-model.ts'

it('the model in a worker hears whether another one computes; one that has no use for it is not disturbed (R17)', () => {
  const told: boolean[] = []
  const listening = { shareCores: (isAlone: boolean) => told.push(isAlone) } as unknown as LoadedModel
  for (const model of [listening, {} as LoadedModel]) {
    const hosted = new HostedModel(model, () => undefined, new ManualClock())
    for (const isAlone of [false, true]) hosted.receive({ type: 'cores', isAlone })
  }
  expect(told).toEqual([false, true])
})
