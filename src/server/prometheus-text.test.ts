import { describe, expect, it } from 'vitest'
import { readExposition } from '../../test/http/read-exposition.ts'
import { Histogram } from './histogram.ts'
import { prometheusText } from './prometheus-text.ts'
import { TallyBook } from './tally-book.ts'

describe('the text format of Prometheus', () => {
  it('names of models come through whatever they hold', () => {
    const model = 'a"b\\c\nd{},é'
    const text = prometheusText([
      {
        name: 'x_total',
        help: 'Two\nlines and a \\.',
        type: 'counter',
        samples: [{ labels: { model }, value: 1 }],
      },
    ])
    expect(text.split('\n')).toHaveLength(4)
    expect(readExposition(text).get('x_total')?.samples).toEqual([
      { name: 'x_total', labels: { model }, value: 1 },
    ])
  })

  it('a histogram counts each value in every bucket it is not above', () => {
    const histogram = new Histogram([0.1, 1])
    for (const value of [0.1, 0.5, 7]) histogram.observe(value)
    const text = prometheusText([{ name: 'w', help: 'h', type: 'histogram', histogram: histogram.reading() }])
    expect(text).toBe(
      '# HELP w h\n# TYPE w histogram\nw_bucket{le="0.1"} 1\nw_bucket{le="1"} 2\nw_bucket{le="+Inf"} 3\nw_sum 7.6\nw_count 3\n',
    )
    expect(readExposition(text).size).toBe(1)
  })

  it('families without samples are left out', () => {
    expect(prometheusText([{ name: 'x', help: 'h', type: 'gauge', samples: [] }])).toBe('')
  })

  it('a flood of names grows no memory: the rest is counted together', () => {
    const book = new TallyBook(['model'])
    for (let index = 0; index < 5000; index++) book.add(1, `m${index}`)
    const samples = book.samples()
    expect(samples.length).toBeLessThanOrEqual(2001)
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(5000)
  })
})
