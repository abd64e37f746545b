import { describe, expect, it } from 'vitest'
import { readTrace } from './read-trace.ts'
import { simulate } from './simulate.ts'

const GIB = 1024 ** 3
const HEADER = '{"modelyardTrace":1,"memory":{"ram":"8 GiB"},"swapPatience":1000}'
const MODEL = '{"model":{"id":"a","bytes":"6 GiB","loadTime":4000,"pinned":"soft"}}'

const begun = (conversation: string, of: string): string =>
  JSON.stringify({ at: 1, model: 'a', hold: 1, conversation, beginning: { of, tokens: 9 } })

describe('a trace in lines of JSON', () => {
  it('is a machine, models and requests in any order', () => {
    const request = { at: 0, model: 'a', hold: 100, conversation: 'x', turn: 1, think: 5, timeout: 9000 }
    const trace = readTrace([HEADER, JSON.stringify(request), '', MODEL], 'day.jsonl')
    expect(trace.limits).toMatchObject({
      memory: { ram: { budget: 8 * GIB, absolute: 8 * GIB } },
      swapPatience: 1000,
      concurrency: 64,
    })
    expect(trace.host).toEqual({ ram: 16 * GIB })
    expect(trace.requests).toEqual([request])
    expect(trace.models).toMatchObject([
      { id: 'a', loadTime: 4000, pinned: 'soft', footprint: { ram: { weights: 6 * GIB } } },
    ])
    expect(simulate(trace)).toMatchObject({ served: 1, loads: 1, reloadTime: 4010, overBudget: 0 })
  })

  it('takes the last description of a model, and bytes by domain', () => {
    const later = '{"model":{"id":"a","bytes":{"ram":5,"gpu:0":7}}}'
    const { models } = readTrace([HEADER, MODEL, later], 'day.jsonl')
    expect(models).toMatchObject([{ footprint: { ram: { weights: 5 }, 'gpu:0': { weights: 7 } } }])
  })

  it.each([
    [[], 'day.jsonl, line 1: the trace is empty. The first line must be like'],
    [['{"at":1}'], 'line 1: needs "modelyardTrace".'],
    [['{"modelyardTrace":2,"memory":{}}'], 'line 1: modelyardTrace must be 1'],
    [[HEADER, 'secret text'], 'line 2: is not a JSON object.'],
    [[HEADER, '[]'], 'line 2: must be a map of options, not a list.'],
    [[HEADER, '{}'], 'line 2: needs "at".'],
    [[HEADER, MODEL, '{"at":-1,"model":"a","hold":1}'], 'line 3: at must be a number of at least 0, not -1.'],
    [[HEADER, MODEL, '{"at":1,"model":"a","hold":1,"prioritty":"normal"}'], 'did you mean "priority"?'],
    [[HEADER, '{"model":{"id":"a"}}'], 'line 2: model needs "bytes".'],
    [
      [HEADER, MODEL, '{"at":1,"model":"a","hold":1,"beginning":{"of":"s","tokens":9}}'],
      'line 3: a beginning needs the "conversation" that has it.',
    ],
    [
      [HEADER, MODEL, '{"at":1,"model":"a","hold":1,"conversation":"x","beginning":{"of":"s","tokens":0}}'],
      'line 3: beginning.tokens must be a whole number of at least 1, not 0.',
    ],
    [[HEADER, MODEL, begun('x', 'x')], 'line 3: the beginning of the conversation "x" is its own.'],
    [
      [HEADER, MODEL, begun('a', 's'), begun('x', 'y'), begun('y', 'z'), begun('z', 'y')],
      'line 4: the beginning of the conversation "y" is its own.',
    ],
    [[HEADER, '{"at":1,"model":"b","hold":1}'], 'line 2: no line describes the model "b".'],
  ])('is refused at the line that is wrong: %j', (lines, message) => {
    expect(() => readTrace(lines, 'day.jsonl')).toThrow(message)
  })

  it('is refused where more than 1000 conversations begin with one another in a row', () => {
    const upwards = (count: number): string[] =>
      Array.from({ length: count }, (_, index) => begun(`c${index + 1}`, `c${index}`))
    const read = (requests: string[]): unknown => readTrace([HEADER, MODEL, ...requests], 'day.jsonl')
    expect(read(upwards(1000))).toMatchObject({ requests: { length: 1000 } })
    const message =
      'line 1003: the conversation "c1001" begins with one that begins with another, 1001 in a row; 1000 are allowed.'
    expect(() => read(upwards(1001))).toThrow(message)
    expect(() => read(upwards(20_000).toReversed())).toThrow('line 3: the conversation "c20000"')
  })

  it('never repeats what a broken line holds, which may be somebody’s text', () => {
    expect(() => readTrace([HEADER, 'secret text'], 'day.jsonl')).not.toThrow('secret')
  })
})

describe('requests of one conversation that think', () => {
  it('come when the one before was answered, and not before their time', () => {
    const lines = [HEADER, MODEL]
    for (let turn = 0; turn < 3; turn++) {
      const request = {
        at: turn === 2 ? 60_000 : 0,
        model: 'a',
        hold: 1000,
        conversation: 'x',
        turn,
        think: 500,
      }
      lines.push(JSON.stringify(request))
    }
    const arrivals: number[] = []
    simulate(readTrace(lines, 'day.jsonl'), { onEnd: ({ arrivedAt }) => arrivals.push(arrivedAt) })
    expect(arrivals).toEqual([0, 4010 + 1000 + 500, 60_000])
  })
})
