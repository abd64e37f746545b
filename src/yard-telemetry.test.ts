import { describe, expect, it } from 'vitest'
import { ManualClock } from './base/clock.ts'
import type { DeviceActivity } from './host/device-memory.ts'
import type { PoolStatus } from './pool/pool-status.ts'
import { YardTelemetry } from './yard-telemetry.ts'

const GIB = 1024 ** 3

class Machine {
  readonly clock = new ManualClock(1000)
  busy = 0
  idle = 0
  used = 0
  devices: DeviceActivity[] = []
  readonly telemetry = new YardTelemetry({
    clock: this.clock,
    status: () => this.status(),
    devices: () => this.devices,
    processorTimes: () => ({ busy: this.busy, idle: this.idle }),
    processorSeconds: () => this.used,
  })

  status(): PoolStatus {
    const host = { total: 8 * GIB, available: 5 * GIB, source: 'test' }
    const ram = {
      budget: 6 * GIB,
      absolute: 7 * GIB,
      booked: GIB,
      loading: 0,
      resident: GIB,
      releasing: 0,
      host,
    }
    return {
      instances: [
        { id: 'm#1', model: 'm', pid: 7, measured: { ram: 900 } },
        { id: 'x#2', model: 'x' },
      ],
      queue: [{}, {}],
      memory: { ram },
      runs: { active: 1, limit: 4 },
    } as unknown as PoolStatus
  }
}

describe('telemetry of the yard (M18)', () => {
  it('has what cores and workers did between two looks, and what waits and runs', () => {
    const machine = new Machine()
    machine.telemetry.start()
    Object.assign(machine, { busy: 3, idle: 7, used: 1.5 })
    machine.clock.advance(5000)
    const [first, second] = machine.telemetry.history().samples
    expect(first).toMatchObject({ at: 1000, cpu: null, workers: [{ cpu: null }, { cpu: null }] })
    expect(second).toEqual({
      at: 6000,
      cpu: 0.3,
      memory: { ram: { budget: 6 * GIB, booked: GIB, total: 8 * GIB, available: 5 * GIB } },
      devices: {},
      queue: 2,
      runs: 1,
      workers: [
        { instance: 'm#1', model: 'm', cpu: 0.3, memory: 900 },
        { instance: 'x#2', model: 'x', cpu: null, memory: null },
      ],
    })
  })

  it('is kept for ten minutes, and given from a moment on', () => {
    const { telemetry, clock } = new Machine()
    telemetry.start()
    clock.advance(1_000_000)
    const { samples } = telemetry.history()
    expect(samples).toHaveLength(120)
    expect(telemetry.history(samples[117]?.at).samples).toEqual(samples.slice(118))
    telemetry.close()
    clock.advance(10_000)
    expect(telemetry.history().samples).toEqual(samples)
  })

  it('says of a device that does not tell how busy it is why, and nothing of its own', () => {
    const machine = new Machine()
    machine.devices = [
      { domain: 'gpu:0', busy: 0.4 },
      { domain: 'gpu:1', unknown: 'It cannot be said.' },
    ]
    machine.telemetry.start()
    const { samples, unknown } = machine.telemetry.history()
    expect(samples[0]?.devices).toEqual({ 'gpu:0': 0.4, 'gpu:1': null })
    expect(unknown).toEqual(['It cannot be said.'])
  })
})
