import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../base/clock.ts'
import { chooseEndpoint, Endpoint } from './endpoint.ts'

const NONE: ReadonlySet<Endpoint> = new Set()

function endpoints(clock: ManualClock): [Endpoint, Endpoint] {
  return [new Endpoint('http://a/v1/', clock), new Endpoint('http://b/v1', clock)]
}

function fail(endpoint: Endpoint, times: number): void {
  for (let count = 0; count < times; count++) endpoint.failed()
}

describe('the endpoints of an upstream', () => {
  it('are asked by who is least busy', () => {
    const [a, b] = endpoints(new ManualClock())
    expect(chooseEndpoint([a, b], NONE, undefined)).toBe(a)
    a.begin()
    expect(chooseEndpoint([a, b], NONE, undefined)).toBe(b)
    a.end()
    expect(chooseEndpoint([a, b], NONE, undefined)).toBe(a)
  })

  it('keep their conversations, whose beginning they have in memory', () => {
    const [a, b] = endpoints(new ManualClock())
    b.begin()
    expect(chooseEndpoint([a, b], NONE, b)).toBe(b)
  })

  it('are each tried before one is tried again', () => {
    const [a, b] = endpoints(new ManualClock())
    expect(chooseEndpoint([a, b], new Set([a]), a)).toBe(b)
    expect(chooseEndpoint([a, b], new Set([a, b]), undefined)).toBe(a)
  })

  it('rest after three failures in a row, twice as long each time, at most a minute', () => {
    const clock = new ManualClock()
    const [a] = endpoints(clock)
    fail(a, 2)
    expect(a.rest).toBe(0)
    fail(a, 1)
    expect(a.rest).toBe(1000)
    fail(a, 1)
    expect(a.rest).toBe(2000)
    fail(a, 20)
    expect(a.rest).toBe(60_000)
  })

  it('let one request try after the rest, whose success ends it', () => {
    const clock = new ManualClock()
    const [a, b] = endpoints(clock)
    fail(a, 3)
    expect(chooseEndpoint([a, b], NONE, a)).toBe(b)
    expect(chooseEndpoint([a], NONE, undefined)).toBeUndefined()
    clock.advance(1000)
    expect(chooseEndpoint([a], NONE, undefined)).toBe(a)
    a.begin()
    expect(chooseEndpoint([a], NONE, undefined)).toBeUndefined()
    a.succeeded()
    expect(a.rest).toBe(0)
  })

  it('has an address without a slash at its end', () => {
    expect(endpoints(new ManualClock())[0].url).toBe('http://a/v1')
  })
})
