import { describe, expect, it } from 'vitest'
import type { ManualClock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { createDesk, text, transcript, type Desk } from '../test-desk.ts'
import type { AnswerSummary } from '../yard-client.ts'
import { bench } from './bench.ts'

const summary = (prefill: number, decode: number): Partial<AnswerSummary> => ({
  usage: { promptTokens: 120, cachedTokens: 20, completionTokens: 50, reasoningTokens: 0 },
  timings: { prefill, decode },
  loadMs: 0,
})

/** A first answer that waits for a load, then one for each question; each takes `took` milliseconds until its first piece. */
function scripted(questions: number, took = 300): Desk {
  const desk = createDesk()
  desk.yard.answers.push({ parts: [text('warm')], summary: { ...summary(1, 1), loadMs: 1500 } })
  for (let index = 1; index <= questions; index++)
    desk.yard.answers.push({ parts: [text('a'), text('b')], summary: summary(100 * index, 500 * index) })
  const clock = desk.context.clock as ManualClock
  const ask = desk.yard.ask.bind(desk.yard)
  desk.yard.ask = async function* later(question) {
    clock.advance(took)
    return yield* ask(question)
  }
  return desk
}

describe('modelyard bench', () => {
  it('measures rounds after a question that loads the model and is not counted', async () => {
    const { context, out, yard } = scripted(3)
    await bench(context, 'tiny', { rounds: 3, words: 3, maxTokens: 50, json: true })
    expect(JSON.parse(out())).toEqual({
      model: 'tiny',
      rounds: 3,
      parallel: 1,
      loadMs: 1500,
      promptTokens: { median: 100, least: 100, most: 100 },
      completionTokens: { median: 50, least: 50, most: 50 },
      firstToken: { median: 300, least: 300, most: 300 },
      prefill: { median: 500, least: 1000 / 3, most: 1000 },
      decode: { median: 50, least: 100 / 3, most: 100 },
      together: { median: 50_000 / 300, least: 50_000 / 300, most: 50_000 / 300 },
    })
    expect(yard.asked[0]).toMatchObject({ maxTokens: 50, sampling: { temperature: 0 } })
    const questions = yard.asked.map(({ messages }) => transcript(messages)[0])
    expect(questions[1]).toBe(
      'user: Question 1.1. Tell a long story that goes on from here: the river carries',
    )
    expect(new Set(questions).size).toBe(4)
    expect(yard.closed).toBe(1)
  })

  it('has no speed of answers where none was asked for', async () => {
    const desk = createDesk()
    const usage = { promptTokens: 120, cachedTokens: 20, completionTokens: 0, reasoningTokens: 0 }
    for (let index = 0; index < 3; index++)
      desk.yard.answers.push({ parts: [], summary: { ...summary(100, 0.1), usage } })
    await bench(desk.context, 'tiny', { rounds: 2, maxTokens: 0, json: true })
    expect(JSON.parse(desk.out())).toMatchObject({ decode: null, together: null, prefill: { most: 1000 } })
  })

  it('prints a table, and what the load took', async () => {
    const { context, out } = scripted(10)
    await bench(context, 'tiny', { parallel: 2 })
    expect(out()).toMatch(/^tiny, 5 × 2 +MEDIAN +LEAST +MOST\nfirst token +[\d.]+ ?m?s/)
    expect(out()).toMatch(/answer +[\d.]+ tokens\/s +10 tokens\/s +100 tokens\/s\n/)
    expect(out()).toMatch(/\nIts load took 1\.5 ?s\.\n$/)
  })

  it('leaves out what nobody can tell', async () => {
    const { context, out, yard } = createDesk()
    const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0, unknown: true }
    for (let index = 0; index < 2; index++)
      yard.answers.push({ parts: [], summary: { usage: { ...usage, unknown: true } } })
    await bench(context, 'tiny', { rounds: 1, json: true })
    expect(JSON.parse(out())).toEqual({
      model: 'tiny',
      rounds: 1,
      parallel: 1,
      loadMs: null,
      promptTokens: null,
      completionTokens: null,
      firstToken: null,
      prefill: null,
      decode: null,
      together: null,
    })
  })

  it('ends the others with one that fails', async () => {
    const { context, yard } = createDesk()
    const failed = new ModelyardError('worker_exited', 'It died.')
    yard.answers.push({ parts: [] }, { parts: [], hangs: true }, { parts: [], error: failed })
    await expect(bench(context, 'tiny', { parallel: 2 })).rejects.toBe(failed)
    expect(yard.asked.map(({ signal }) => signal.aborted)).toEqual([true, true, true])
  })

  it('ends with what went wrong', async () => {
    const { context, yard } = createDesk()
    yard.answers.push({ parts: [], error: new ModelyardError('model_too_large', 'It needs 9 GiB.') })
    await expect(bench(context, 'tiny', {})).rejects.toMatchObject({ code: 'model_too_large' })
    expect(yard.closed).toBe(1)
  })
})
