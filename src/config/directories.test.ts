import { describe, expect, it } from 'vitest'
import { yardDirectories } from './directories.ts'

describe('yardDirectories', () => {
  it('puts everything under MODELYARD_HOME, from the working directory on', () => {
    const places = yardDirectories({ MODELYARD_HOME: 'here', HOME: '/home/me' }, '/work')
    expect(Object.values(places).every((path) => path.startsWith('/work/here'))).toBe(true)
    expect(places.home).toBe('/work/here')
  })

  it('uses the XDG folders where they are set, and ignores relative ones', () => {
    const environment = {
      HOME: '/home/me',
      XDG_DATA_HOME: '/data',
      XDG_STATE_HOME: 'state',
      MODELYARD_HOME: '',
    }
    expect(yardDirectories(environment, '/work', 'linux')).toEqual({
      home: '/home/me/.local/state/modelyard',
      config: '/home/me/.config/modelyard',
      models: '/data/modelyard/models',
      engines: '/data/modelyard/engines',
      contexts: '/home/me/.local/state/modelyard/contexts',
      logs: '/home/me/.local/state/modelyard/logs',
      slots: '/home/me/.local/state/modelyard/slots',
      workers: '/home/me/.local/state/modelyard/workers',
      database: '/home/me/.local/state/modelyard/modelyard.db',
    })
  })

  it('knows the places of macOS and Windows', () => {
    expect(yardDirectories({ HOME: '/Users/me' }, '/', 'darwin').models).toBe(
      '/Users/me/Library/Application Support/modelyard/models',
    )
    const windows = yardDirectories(
      { USERPROFILE: '/me', APPDATA: '/me/roaming', LOCALAPPDATA: '/me/local' },
      '/',
      'win32',
    )
    expect(windows.config).toBe('/me/roaming/modelyard')
    expect(windows.models).toBe('/me/local/modelyard/models')
  })
})
