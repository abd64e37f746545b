import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eightUsers, CALM, twoLongConversations } from './simulation/sample-traces.ts'
import { readTrace } from './simulation/read-trace.ts'
import { requestChain } from './simulation/conversations.ts'
import { newWorld, ROOMY, sized } from './simulation/scenario.ts'
import { simulate } from './simulation/simulate.ts'
import type { SimulationReport } from './simulation/simulation-report.ts'
import type { HeaderLine, RequestLine } from './simulation/trace-lines.ts'
import type { Trace } from './simulation/trace.ts'
import type { World } from './simulation/world.ts'
import { TraceRecorder } from './trace-recorder.ts'

const EIGHT_AGENTS = join(import.meta.dirname, 'simulation/__fixtures__/eight-agents.jsonl')

/** Plays a trace under a recorder and reads what it wrote. */
function recorded(trace: Trace): { again: Trace; lines: string[] } {
  const lines: string[] = []
  const recorder = new TraceRecorder((line) => lines.push(line))
  const source = 'a test'
  recorder.begin(trace.limits, { ram: { total: trace.host.ram ?? 0, available: 0, source } })
  simulate(trace, { observe: ({ before, event, decision }) => recorder.observe(before, event, decision) })
  return { again: readTrace(lines, 'recorded'), lines }
}

function recordedWorld(): { world: World; lines: string[] } {
  const lines: string[] = []
  const recorder = new TraceRecorder((line) => lines.push(line))
  const world = newWorld({
    observe: ({ before, event, decision }) => recorder.observe(before, event, decision),
  })
  recorder.begin(world.state.limits, {})
  return { world, lines }
}

describe('a recorded trace', () => {
  it.each([
    ['two agents with long conversations', twoLongConversations(30)],
    ['eight users', eightUsers('slowDisk', CALM, 1, 4)],
  ])('plays like the day it was recorded on (%s)', (_day, trace) => {
    const before = simulate(trace)
    const after = simulate(recorded(trace).again)
    expect(after).toMatchObject({ served: before.served, refused: {}, overBudget: 0 })
    expect(Math.abs(after.loads - before.loads)).toBeLessThanOrEqual(Math.ceil(before.loads / 10))
    expect(after.reuse).toBeCloseTo(before.reuse, 1)
  })

  it('counts the disk once: what writing and reading took is not a part of the answer', () => {
    const trace = twoLongConversations(30)
    const { again, lines } = recorded(trace)
    expect(lines.filter((line) => line.includes('"disk":')).length).toBeGreaterThan(5)
    /** Later ones differ: the times are whole numbers now, and with them it is another day some time. */
    const held = (played: Trace): number[] => {
      const times: number[] = []
      simulate(played, { onEnd: ({ grantedAt = 0, endedAt = 0 }) => times.push(endedAt - grantedAt) })
      return times.slice(0, 20)
    }
    const [before, after] = [held(trace), held(again)]
    const most = Math.max(...before.map((time, index) => Math.abs(time - (after[index] ?? 0))))
    expect(most).toBeLessThan(2)
  })

  it('holds numbers for conversations and no hash of what anybody wrote', () => {
    const { world, lines } = recordedWorld()
    world.declare(sized('m', 40))
    world.request({ model: 'm', chain: requestChain('system-hash', 'secret-hash', 0), hold: 10 })
    world.run(5000)
    world.request({ model: 'm', chain: requestChain('system-hash', 'secret-hash', 1), hold: 10 })
    world.run(10_000)
    expect(lines.join('\n')).not.toMatch(/secret|system-hash/)
    const requests = lines.filter((line) => line.startsWith('{"at"'))
    expect(requests.map((line) => JSON.parse(line) as unknown)).toEqual([
      { at: 0, model: 'm', hold: 10, conversation: 'c1', turn: 0, tokens: 500 },
      { at: 5000, model: 'm', hold: 10, conversation: 'c1', turn: 1, think: 4880, tokens: 1000, cached: 750 },
    ])
  })

  it('says how many tokens a conversation begins with that an earlier one had, in numbers in order of appearance', () => {
    const { world, lines } = recordedWorld()
    world.declare(sized('m', 40, { slots: 4 }))
    for (const [chain, at] of [
      [requestChain('system-hash', 'secret-one', 0), 1000],
      [requestChain('system-hash', 'secret-two', 0), 2000],
      [requestChain('other-hash', 'secret-three', 0), 3000],
      [requestChain('system-hash', 'secret-two', 1), 4000],
    ] as const) {
      world.request({ model: 'm', chain, hold: 10 })
      world.run(at)
    }
    expect(lines.join('\n')).not.toMatch(/secret|hash/)
    const requests = lines.filter((line) => line.startsWith('{"at"'))
    const written = requests.map((line) => JSON.parse(line) as RequestLine)
    expect(written.map(({ conversation, turn, beginning }) => ({ conversation, turn, beginning }))).toEqual([
      { conversation: 'c1', turn: 0, beginning: undefined },
      { conversation: 'c2', turn: 0, beginning: { of: 'c1', tokens: 250 } },
      { conversation: 'c3', turn: 0, beginning: undefined },
      { conversation: 'c2', turn: 1, beginning: { of: 'c1', tokens: 250 } },
    ])
  })

  it('plays agents with one beginning as the day had them, and says that contexts were parked', () => {
    const trace = readTrace(readFileSync(EIGHT_AGENTS, 'utf8').split('\n'), 'agents')
    const { again, lines } = recorded(trace)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ contexts: trace.limits.parking?.budget })
    expect(lines.join('\n')).not.toMatch(/agent|system|story/)
    const [before, after] = [simulate(trace), simulate(again)]
    expect(after).toMatchObject({ served: before.served, refused: {}, overBudget: 0 })
    const total = ({ prompts }: SimulationReport): number => prompts.computed + prompts.reused
    expect(total(after)).toBe(total(before))
    expect(after.prompts.computed / before.prompts.computed).toBeGreaterThan(0.9)
    expect(after.prompts.computed / before.prompts.computed).toBeLessThan(1.1)
  })

  it('has all of the disk where nobody said how much of it contexts may take', () => {
    const lines: string[] = []
    const recorder = new TraceRecorder((line) => lines.push(line))
    recorder.begin({ ...ROOMY, parking: { mode: 'worth' } }, {})
    recorder.begin({ ...ROOMY, parking: { mode: 'off' } }, {})
    recorder.begin({ ...ROOMY, parking: { mode: 'worth', budget: 0 } }, {})
    expect(lines.map((line) => (JSON.parse(line) as HeaderLine).contexts)).toEqual([true, undefined, 0])
    expect(readTrace(lines.slice(0, 1), 'recorded').limits.parking).toEqual({ mode: 'worth' })
  })

  it('describes a model anew when more is known of it: what it takes, and how long it loads', () => {
    const { world, lines } = recordedWorld()
    world.declare(sized('m', 40, { loadTime: 700, reality: 1.2 }))
    world.request({ model: 'm', hold: 10 })
    world.run(5000)
    const models = lines.filter((line) => line.includes('"bytes"')).map((line) => JSON.parse(line) as unknown)
    expect(models).toMatchObject([
      { model: { id: 'm', bytes: { ram: 40 } } },
      { model: { id: 'm', bytes: { ram: 48 }, loadTime: 710 } },
    ])
  })

  it('has those who left or were refused, and how long they waited', () => {
    const { world, lines } = recordedWorld()
    for (const id of ['m', 'huge']) world.declare(sized(id, id === 'm' ? 40 : 400))
    world.request({ model: 'm', hold: 3000 })
    const leaving = world.request({ model: 'm', hold: 10, priority: 'background' })
    world.request({ model: 'huge' })
    world.run(500)
    world.abort(leaving)
    world.unload('m', true)
    const requests = lines
      .filter((line) => line.startsWith('{"at"'))
      .map((line) => JSON.parse(line) as unknown)
    expect(requests).toEqual([
      { at: 0, model: 'huge', hold: 0, timeout: 0 },
      { at: 0, model: 'm', hold: 0, timeout: 500, priority: 'background' },
      { at: 0, model: 'm', hold: 390 },
    ])
  })
})
