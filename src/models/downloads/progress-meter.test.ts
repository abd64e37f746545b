import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { type DownloadProgress, ProgressMeter } from './progress-meter.ts'

function meter(): { clock: ManualClock; seen: DownloadProgress[]; meter: ProgressMeter } {
  const clock = new ManualClock()
  const seen: DownloadProgress[] = []
  return { clock, seen, meter: new ProgressMeter('m.gguf', clock, (progress) => seen.push(progress)) }
}

describe('ProgressMeter', () => {
  it('tells speed and time left', () => {
    const { clock, seen, meter: subject } = meter()
    subject.update('downloading', 0, 1000)
    clock.advance(1000)
    subject.update('downloading', 250, 1000)
    expect(seen).toEqual([
      { stage: 'downloading', file: 'm.gguf', received: 0, total: 1000, bytesPerSecond: 0, timeLeft: null },
      {
        stage: 'downloading',
        file: 'm.gguf',
        received: 250,
        total: 1000,
        bytesPerSecond: 250,
        timeLeft: 3000,
      },
    ])
  })

  it('does not count what was there before as speed', () => {
    const { clock, seen, meter: subject } = meter()
    subject.update('downloading', 900, 1000)
    clock.advance(1000)
    subject.update('downloading', 950, 1000)
    expect(seen.at(-1)?.bytesPerSecond).toBe(50)
  })

  it('reports a few times per second, changes of stage and the end at once', () => {
    const { clock, seen, meter: subject } = meter()
    for (let received = 0; received <= 100; received++) {
      subject.update('downloading', received, 100)
      clock.advance(10)
    }
    subject.update('verifying', 0, 100)
    expect(seen.map(({ stage, received }) => `${stage} ${received}`)).toEqual([
      'downloading 0',
      'downloading 25',
      'downloading 50',
      'downloading 75',
      'downloading 100',
      'verifying 0',
    ])
  })

  it('shows a stall within seconds', () => {
    const { clock, seen, meter: subject } = meter()
    for (let second = 0; second <= 20; second++) {
      subject.update('downloading', Math.min(second, 10) * 100, 10_000)
      clock.advance(1000)
    }
    expect(seen[10]?.bytesPerSecond).toBe(100)
    expect(seen.at(-1)).toMatchObject({ bytesPerSecond: 0, timeLeft: null })
  })

  it('begins anew with a download that does', () => {
    const { clock, seen, meter: subject } = meter()
    subject.update('downloading', 500, null)
    clock.advance(1000)
    subject.update('downloading', 10, null)
    clock.advance(1000)
    subject.update('downloading', 110, null)
    expect(seen.map(({ bytesPerSecond }) => bytesPerSecond)).toEqual([0, 0, 100])
    expect(seen.at(-1)?.timeLeft).toBeNull()
  })
})
