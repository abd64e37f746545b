import { describe, expect, it } from 'vitest'
import type { SettingStatus } from '../../server/control-port.ts'
import { createDesk } from '../test-desk.ts'
import { resetSetting, setSetting, showSettings } from './settings.ts'

const DEFAULT: SettingStatus = {
  key: 'keepAlive',
  value: null,
  origin: 'default',
  effective: 300_000,
  description: 'Idle time.',
}

describe('modelyard settings', () => {
  it('durations have units wherever they are shown', async () => {
    const { context, yard, out } = createDesk()
    yard.settingList = [DEFAULT]
    await showSettings(context, undefined, {})
    expect(out()).toMatch(/^keepAlive +5m +default +Idle time\.$/m)
    await showSettings(context, 'keepAlive', {})
    await resetSetting(context, 'keepAlive', {})
    yard.settingList = [{ ...DEFAULT, value: 300_000, origin: 'settings', effective: 300_000_000 }]
    await setSetting(context, 'keepAlive', ['300000'], {})
    expect(out().split('\n').slice(-4)).toEqual([
      '5m (default)',
      'keepAlive: 5m (default)',
      'keepAlive: 3d11h20m (settings)',
      '',
    ])
    expect(yard.calls).toEqual(['change {"keepAlive":null}', 'change {"keepAlive":300000}'])
  })

  it('--json keeps the plain numbers', async () => {
    const { context, yard, out } = createDesk()
    yard.settingList = [DEFAULT]
    await showSettings(context, 'keepAlive', { json: true })
    expect(JSON.parse(out())).toEqual(DEFAULT)
  })
})
