import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MODEL, newHome, startServer, streamChat } from './server.mjs'
import { median, ratios, row, spread } from './statistics.mjs'

const THREADS = 1
const CONTEXT = 4096
/** A slot of its own for each of a few conversations of about 1,600 tokens. */
const BASE = { file: MODEL, context: CONTEXT, system: '', device: { threads: THREADS, gpu: false } }
const ONE_FITS = { memory: { maxLargeModels: 1, smallModel: 0 } }
const OFF = { contexts: { parking: false } }

/** About as many tokens of words that no other seed has; a number is a few tokens. */
function words(seed, tokens) {
  const list = Array.from(
    { length: Math.round(tokens / 4.4) },
    (_, index) => `word${(index * 7919 + seed * 104_729) % 9973}`,
  )
  return `Text ${seed}. ${list.join(' ')}`
}

const user = (content) => ({ role: 'user', content })
const assistant = (content) => ({ role: 'assistant', content })

/** A conversation with a server: each turn says when its first token came, and how much was reused. */
class Conversation {
  messages
  constructor(url, model, opening, system) {
    this.url = url
    this.model = model
    const before = system === undefined ? [] : [{ role: 'system', content: system }]
    this.messages = [...before, user(opening)]
  }

  async turn(text, count = 4) {
    if (text !== undefined) this.messages = [...this.messages, user(text)]
    const { url, model, messages } = this
    const answer = await streamChat(url, { model, temperature: 0, max_tokens: count, messages })
    this.messages = [...messages, assistant(answer.text)]
    const cached = answer.usage.prompt_tokens_details?.cached_tokens ?? 0
    return { first: answer.times[0], prompt: answer.usage.prompt_tokens, cached }
  }
}

/** Two models of which one fits, in turn: milliseconds until the first token of each return. */
async function alternate(settings, rounds, tokens = 1600) {
  const server = await startServer(
    { a: { ...BASE, slots: 1 }, b: { ...BASE, slots: 1 } },
    { ...ONE_FITS, ...settings },
  )
  try {
    const [a, b] = [
      new Conversation(server.url, 'a', words(1, tokens)),
      new Conversation(server.url, 'b', words(2, tokens)),
    ]
    await a.turn()
    await b.turn()
    const firsts = []
    for (let round = 0; round < rounds; round++) {
      for (const conversation of [a, b]) firsts.push(await conversation.turn(`And ${round}?`))
    }
    return firsts
  } finally {
    await server.stop()
  }
}

async function swaps() {
  const parked = await alternate({}, 2)
  const computed = await alternate(OFF, 1)
  tell('(a) two models, one fits: first token on return', parked, computed, '>= 6 times shorter')
}

function tell(name, parked, computed, target) {
  const [ours, theirs] = [parked, computed].map((turns) => turns.map(({ first }) => first))
  row(`${name}, ms`, spread(ours, 0))
  row('   the same without parking, ms', spread(theirs, 0))
  row('   how many times shorter', (median(theirs) / median(ours)).toFixed(1), target)
  row('   reused of the prompt', `${parked.map(({ cached, prompt }) => `${cached}/${prompt}`).join(' ')}`)
}

/** Two long conversations in turn on one slot. */
async function oneSlot(settings, rounds) {
  const server = await startServer({ m: { ...BASE, slots: 1 } }, settings)
  try {
    const pair = [1, 2].map((seed) => new Conversation(server.url, 'm', words(seed, 1600)))
    for (const conversation of pair) await conversation.turn()
    const turns = []
    for (let round = 0; round < rounds; round++) {
      for (const conversation of pair) turns.push(await conversation.turn(`And ${round}?`))
    }
    return turns
  } finally {
    await server.stop()
  }
}

async function slots() {
  const parked = await oneSlot({}, 4)
  const computed = await oneSlot(OFF, 1)
  tell('(b) two conversations, one slot: first token', parked, computed, '>= 30 times shorter')
}

/** So many agents with one beginning, and so many without, on four slots: later turns, and what was computed of the beginning. */
async function agents(count) {
  const server = await startServer({ m: { ...BASE, slots: 4 } })
  try {
    const run = async (beginnings) => {
      const all = beginnings.map(
        (system, index) => new Conversation(server.url, 'm', `You are agent ${index}.`, system),
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
      `(c) ${count} agents: later first token, shared ÷ own beginnings`,
      (median(shared.later) / median(own.later)).toFixed(2),
      '<= 1.15',
    )
    row('   beginnings computed', (shared.computed / (own.computed / count)).toFixed(2), '<= 1.3')
  } finally {
    await server.stop()
  }
}

async function restart() {
  const home = newHome()
  const models = { m: { ...BASE, slots: 1 } }
  const once = async (settings, known) => {
    const server = await startServer(models, settings, home)
    try {
      // The model is loaded before the clock starts: a start is measured elsewhere.
      await new Conversation(server.url, 'm', 'Hello.').turn()
      const conversation = new Conversation(server.url, 'm', words(1, 1600))
      conversation.messages = known ?? conversation.messages
      const turn = await conversation.turn(known === undefined ? undefined : 'And then?')
      return { turn, messages: conversation.messages }
    } finally {
      await server.stop()
    }
  }
  try {
    const { messages } = await once({})
    const parked = await once({}, messages)
    const computed = await once(OFF, messages)
    tell('(d) a restart of the server in between: first token', [parked.turn], [computed.turn])
    const folder = join(home.path, 'contexts')
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
    row('   files, MB', (bytes / 1e6).toFixed(1))
  } finally {
    home.remove()
  }
}

/** Conversations that never come back, with parking and without, by turns on two servers. */
async function overhead() {
  const models = { m: { ...BASE, slots: 1 } }
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
    row('(e) without any shared beginning: parking ÷ none', spread(ratios(ours, theirs), 3), '<= 1.02')
  } finally {
    await on.stop()
    await off.stop()
  }
}

/** Contexts that survive: what is spared by parking, in ratios of one run (docs/contexts.md). About five minutes. */
export async function benchContexts() {
  await swaps()
  await slots()
  for (const count of [2, 4, 8]) await agents(count)
  await restart()
  await overhead()
}
