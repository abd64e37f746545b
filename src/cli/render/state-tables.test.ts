import { describe, expect, it } from 'vitest'
import type { InstanceStatus, PoolStatus } from '../../pool/pool-status.ts'
import type { YardState } from '../../yard-state.ts'
import { renderModelNotes, renderModels, renderStatus } from './state-tables.ts'

const GIB = 2 ** 30

function instance(over: Partial<InstanceStatus> = {}): InstanceStatus {
  return {
    id: 'big#1',
    model: 'big',
    state: 'ready',
    pid: 4711,
    contextSize: 4096,
    threads: 1,
    slots: [
      { index: 0, leased: true, cached: 10 },
      { index: 1, leased: false, cached: 0 },
    ],
    leases: 1,
    booked: { ram: GIB, 'gpu:0': GIB },
    estimated: {},
    idleFor: 100,
    expiresIn: 300_000,
    ...over,
  }
}

type Shown = PoolStatus & Pick<YardState, 'activity'>

function status(over: Partial<Shown> = {}): Shown {
  const ram = { budget: 8 * GIB, absolute: 9 * GIB, booked: GIB, loading: 0, resident: GIB, releasing: 0 }
  return {
    instances: [],
    queue: [],
    activity: [],
    models: {},
    memory: { ram: { ...ram, host: { total: 16 * GIB, available: 4 * GIB, source: 'MemAvailable' } } },
    threads: { limit: 4, active: 1 },
    runs: { limit: 64, active: 1 },
    contexts: { count: 0, bytes: 0, limit: null, savedTokens: 0, savedSeconds: 0 },
    ...over,
  }
}

describe('modelyard ps', () => {
  it('says what is parked and what contexts have spared, where there is anything', () => {
    const contexts = { count: 2, bytes: 3 * GIB, limit: 20 * GIB, savedTokens: 12_000, savedSeconds: 33 }
    expect(renderStatus(status({ contexts }))).toContain(
      'contexts: 2 parked, 3 GiB of 20 GiB; 12000 prompt tokens were not computed again, 33 s spared',
    )
    expect(renderStatus(status())).not.toContain('contexts')
  })

  it('shows what each instance holds over all domains, how busy it is and when it goes', () => {
    const lines = renderStatus(
      status({
        instances: [
          instance(),
          instance({ id: 'idle#2', leases: 0, slots: [] }),
          instance({ id: 'kept#3', expiresIn: null }),
        ],
      }),
    ).split('\n')
    expect(lines[1]).toMatch(/^big#1 +big +ready +1 of 2 busy +2 GiB +4096 +when idle +4711$/)
    expect(lines[2]).toMatch(/^idle#2 .* in 5 min /)
    expect(lines[3]).toMatch(/^kept#3 .* never /)
  })

  it('shows how far a load is, and no process where there is none', () => {
    const { pid: _, ...loading } = instance({ state: 'loading', progress: 0.429 })
    expect(renderStatus(status({ instances: [loading] }))).toMatch(/loading 42 % .* –$/m)
  })

  it('shows who waits and why', () => {
    const queue = [
      {
        id: 't1',
        model: 'big',
        priority: 'normal',
        waitingFor: 4200,
        position: 1,
        reason: 'needs 4 GiB, 1 GiB is free',
      },
    ]
    expect(renderStatus(status({ queue }))).toMatch(/^ +1 +big +4\.2 s +– +needs 4 GiB, 1 GiB is free$/m)
    const run = { run: 'run_7', request: null, model: 'big', kind: 'chat', instance: null, startedAt: 0 }
    const activity = [{ ...run, state: 'waiting' as const, ticket: 't1' }]
    expect(renderStatus(status({ queue, activity }))).toMatch(/^ +1 +big +4\.2 s +run_7 +needs 4 GiB/m)
  })

  it('shows the budget, what the machine has left, runs and threads', () => {
    expect(renderStatus(status())).toBe(
      'No model is in memory.\n\n' +
        'ram: 1 GiB of 8 GiB budget in use; the machine has 4 GiB of 16 GiB free\n' +
        '1 of 64 runs, 1 of 4 threads at work',
    )
  })
})

const LISTED = {
  id: 'a',
  name: 'a',
  favourite: false,
  aliases: ['x', 'y'],
  state: 'ready',
  contextLength: null,
  created: 0,
  capabilities: null,
  purpose: 'embedding' as const,
}

describe('modelyard list', () => {
  it('shows every model, or how to get one', () => {
    expect(renderModels([LISTED])).toMatch(/^a +ready +embedding +– +– +– +x, y$/m)
    const known = { ...LISTED, engine: 'mlx', quantization: '4 bits in groups of 64', contextLength: 512 }
    expect(renderModels([known])).toMatch(/^a +ready +embedding +mlx +4 bits in groups of 64 +512 +x, y$/m)
    expect(renderModels([{ ...LISTED, purpose: null }])).toMatch(/^a +ready +– +– +– +– +x, y$/m)
    expect(renderModels([{ ...LISTED, name: 'Writer', favourite: true }])).toMatch(/^★ Writer \(a\) +ready/m)
    expect(renderModels([])).toContain('modelyard pull')
  })

  it('a model whose file is missing says what to do, and two names of one file say so', () => {
    const problem = 'There is no file x.gguf. Put the model there.'
    const models = [
      { ...LISTED, id: 'lost', name: 'lost', state: 'missing', problem },
      { ...LISTED, id: 'again', name: 'again', sameFileAs: 'first' },
    ]
    expect(renderModels(models)).toMatch(/^lost +missing +embedding/m)
    expect(renderModelNotes(models, [])).toEqual(['', `lost: ${problem}`, 'again: the same file as first'])
  })
})
