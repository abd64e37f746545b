import { startServer } from '../server.mjs'
import { median, ratios, row, spread } from '../statistics.mjs'
import { Conversation, modelOf, tell, words } from './conversation.mjs'

const ROUNDS = 4
const OFF = { contexts: { parking: false } }

/** (b) Two long conversations in turn on one slot. */
export async function oneSlot(engine) {
  const run = async (settings, rounds) => {
    const server = await startServer({ m: modelOf(engine) }, settings)
    try {
      const pair = [1, 2].map((seed) => new Conversation(server.url, 'm', words(seed, 1600)))
      for (const conversation of pair) await conversation.turn()
      const turns = []
      for (let round = 0; round < rounds; round++)
        for (const conversation of pair) turns.push(await conversation.turn(`And ${round}?`))
      return turns
    } finally {
      await server.stop()
    }
  }
  const [parked, computed] = [await run({}, ROUNDS), await run(OFF, 1)]
  tell(`(b) ${engine}, two conversations, one slot: first token`, parked, computed, '>= 30')
}

/** (c) So many agents with one beginning, and so many without, on four slots: later turns, and what was computed of the beginning. */
export async function agents(engine, count) {
  const server = await startServer({ m: modelOf(engine, 4096, 4) })
  try {
    const run = async (beginnings) => {
      const all = beginnings.map(
        (system, index) => new Conversation(server.url, 'm', `You are agent ${index}.`, { system }),
      )
      let computed = 0
      for (const agent of all) {
        const { prompt, cached } = await agent.turn()
        computed += prompt - cached
      }
      const later = []
      for (let round = 0; round < 2; round++)
        for (const agent of all) later.push((await agent.turn(`And ${round}?`)).first)
      return { computed, later }
    }
    const names = Array.from({ length: count }, (_, index) => index + 1)
    const shared = await run(names.map(() => words(77, 1450)))
    const own = await run(names.map((name) => words(100 * count + name, 1450)))
    row(
      `(c) ${engine}, ${count} agents: later first token, shared ÷ own`,
      (median(shared.later) / median(own.later)).toFixed(2),
      '<= 1.15',
    )
    row('   beginnings computed', (shared.computed / (own.computed / count)).toFixed(2), '<= 1.3')
  } finally {
    await server.stop()
  }
}

/** (e) Conversations that never come back, with parking and without, by turns on two servers. */
export async function overhead(engine) {
  const models = { m: modelOf(engine) }
  const [on, off] = [await startServer(models), await startServer(models, OFF)]
  try {
    const time = async ({ url }, seed) => {
      const startedAt = performance.now()
      await new Conversation(url, 'm', words(seed, 300)).turn(undefined, 32)
      return performance.now() - startedAt
    }
    for (const server of [on, off]) await time(server, 1)
    const [ours, theirs] = [[], []]
    for (let round = 0; round < 9; round++) {
      const seed = 1000 + round
      const order = round % 2 === 0 ? [on, off] : [off, on]
      for (const server of order) (server === on ? ours : theirs).push(await time(server, seed))
    }
    row(
      `(e) ${engine}, without any shared beginning: parking ÷ none`,
      spread(ratios(ours, theirs), 3),
      '<= 1.02',
    )
  } finally {
    await on.stop()
    await off.stop()
  }
}
