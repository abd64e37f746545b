import { describe, expect, it } from 'vitest'
import { renderSettingValue } from './setting-value.ts'

describe('the value of a setting', () => {
  it.each([
    // By default: what holds.
    ['keepAlive', null, 300_000, '5m'],
    ['memory.budget', null, { ram: 18_956_992_512 }, '17.7 GiB of ram'],
    ['memory.absolute', null, { ram: 2 ** 30, 'gpu:0': 2 ** 31 }, '1 GiB of ram, 2 GiB of gpu:0'],
    ['memory.headroom', null, 1.5 * 2 ** 30, '1.5 GiB'],
    ['contexts.budget', null, 20 * 2 ** 30, '20 GiB'],
    ['limits.runTimeout', null, null, '–'],
    // A bare number: seconds, bytes.
    ['keepAlive', 300_000, 300_000_000, '3d11h20m'],
    ['keepAlive', '300', 300_000, '5m'],
    ['limits.runTimeout', 90, 90_000, '1m30s'],
    ['models.tiny.keepAlive', 60, 60_000, '1m'],
    ['memory.budget', { ram: 2 ** 30 }, { ram: 2 ** 30 }, '1 GiB of ram'],
    // Zero and never.
    ['keepAlive', 0, 0, '0s'],
    ['keepAlive', -1, -1, 'never (-1)'],
    ['keepAlive', '-1', -1, 'never (-1)'],
    ['keepAlive', '-1m', -1, 'never (-1)'],
    ['memory.budget', 0, { ram: 0 }, '0 B of ram'],
    ['memory.headroom', 0, 0, '0 B'],
    // With a unit: as it was written.
    ['keepAlive', '1h', 3_600_000, '1h'],
    ['memory.budget', '75%', { ram: 2 ** 30 }, '75%'],
    ['memory.headroom', '512 MB', 512e6, '512 MB'],
    // Nothing with a unit.
    ['memory.maxLargeModels', 2, 2, '2'],
    ['context', 300_000, 300_000, '300000'],
    ['preload', ['tiny'], ['tiny'], '["tiny"]'],
    ['models.tiny.pinned', 'soft', 'soft', 'soft'],
  ])('%s, written as %j and holding as %j, is %j', (key, value, effective, shown) => {
    expect(renderSettingValue({ key, value, effective })).toBe(shown)
  })

  it('a value of which nothing holds yet is shown as it was written', () => {
    expect(renderSettingValue({ key: 'models.gone.keepAlive', value: 60, effective: null })).toBe('60')
  })
})
