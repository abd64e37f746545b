import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readPressure, readProcessorSeconds, readProcessorTimes, readSwap } from './telemetry.ts'

const proc = mkdtempSync(join(tmpdir(), 'proc-'))
afterAll(() => rmSync(proc, { recursive: true }))

describe('telemetry of the machine (M18)', () => {
  it('reads pressure as the kernel writes it (Documentation/accounting/psi.rst)', () => {
    mkdirSync(join(proc, 'pressure'))
    writeFileSync(
      join(proc, 'pressure', 'memory'),
      'some avg10=0.12 avg60=0.05 avg300=0.00 total=1234567\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n',
    )
    writeFileSync(join(proc, 'pressure', 'cpu'), 'some avg10=1.00 avg60=0.50 avg300=0.10 total=2000000\n')
    expect(readPressure(proc)).toEqual([
      { resource: 'cpu', share: 'some', stalledSeconds: 2 },
      { resource: 'memory', share: 'some', stalledSeconds: 1.234567 },
      { resource: 'memory', share: 'full', stalledSeconds: 0.5 },
    ])
  })

  it('reads swap in bytes, and nothing where there is nothing', () => {
    writeFileSync(join(proc, 'meminfo'), 'SwapTotal:       2048 kB\nSwapFree:        1024 kB\n')
    expect(readSwap(proc)).toEqual({ total: 2_097_152, free: 1_048_576 })
    expect(readSwap('/nowhere')).toBeUndefined()
    expect(readPressure('/nowhere')).toEqual([])
  })

  it('adds up what cores did, and knows nothing where there are none to ask', () => {
    const core = { model: 'x', speed: 1, times: { user: 1000, nice: 500, sys: 250, irq: 250, idle: 8000 } }
    expect(readProcessorTimes(() => [core, core])).toEqual({ busy: 4, idle: 16 })
    expect(readProcessorTimes(() => [])).toBeUndefined()
  })

  it('reads processor time although the name of the program holds brackets', () => {
    const pid = 2 ** 30
    mkdirSync(join(proc, String(pid)))
    const rest = 'S 1 1 1 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 1 1 1'
    writeFileSync(join(proc, String(pid), 'stat'), `${pid} (a) b) ${rest}`)
    expect(readProcessorSeconds(pid, proc)).toBe(2)
    expect(readProcessorSeconds(pid, '/nowhere')).toBeUndefined()
  })
})
