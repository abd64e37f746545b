import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { newHome, startServer } from '../server.mjs'
import { median, ratios, row, spread } from '../statistics.mjs'
import { Conversation, modelOf, tell, words } from './conversation.mjs'
import { ByHand } from './plain-server.mjs'
import { YardLog } from './yard-log.mjs'

const ROUNDS = Number(process.env.MODELYARD_BENCH_ROUNDS ?? 3)
const TOKENS = Number(process.env.MODELYARD_BENCH_TOKENS ?? 1600)
const CONTEXT = 4096
const LONG_TOKENS = 6000
const LONG_CONTEXT = 8192
/** Milliseconds somebody thinks before a turn: a model that was loaded or used a moment ago makes way for nobody yet. */
const THINKING = 2200
const ONE_FITS = { memory: { maxLargeModels: 1, smallModel: 0 } }
const OFF = { contexts: { parking: false } }

const openings = (tokens) => [words(1, tokens), words(2, tokens)]

/** Two models of which one fits, a conversation with each. */
class Alternating {
  static async start(engine, tokens, context, settings = {}) {
    const one = modelOf(engine, context)
    const server = await startServer({ a: one, b: one }, { ...ONE_FITS, ...settings })
    const self = new Alternating()
    self.server = server
    self.log = await YardLog.of(server.url)
    self.conversations = openings(tokens).map(
      (opening, index) => new Conversation(server.url, 'ab'[index], opening),
    )
    return self
  }

  async turn(index, text) {
    await new Promise((done) => setTimeout(done, THINKING))
    return await this.conversations[index].turn(text)
  }

  async close() {
    this.log.close()
    await this.server.stop()
  }
}

/** Returns of both conversations, contestants by turns, each with its own rounds. @returns for each its turns: the first ones, then the returns */
async function compare(contestants) {
  const turns = contestants.map(() => ({ first: [], returns: [] }))
  for (const [number, { player }] of contestants.entries())
    for (const index of [0, 1]) turns[number].first.push(await player.turn(index))
  const most = Math.max(...contestants.map(({ rounds }) => rounds))
  for (let round = 0; round < most; round++)
    for (const index of [0, 1])
      for (const [number, { player, rounds }] of contestants.entries())
        if (round < rounds) turns[number].returns.push(await player.turn(index, `And ${round}?`))
  return turns
}

async function closing(players, work) {
  try {
    return await work()
  } finally {
    for (const player of players) await player.close()
  }
}

/** (a) with node-llama-cpp, without a spare worker and with one. */
export async function swapsOfNodeLlamaCpp() {
  const start = async (settings) => Alternating.start('node-llama-cpp', TOKENS, CONTEXT, settings)
  const [cold, spare, off] = [
    await start({}),
    await start({ swap: { spareWorkers: 1 } }),
    await start({ ...OFF, swap: { spareWorkers: 0 } }),
  ]
  await closing([cold, spare, off], async () => {
    const [ours, ahead, computed] = await compare([
      { player: cold, rounds: ROUNDS },
      { player: spare, rounds: ROUNDS },
      { player: off, rounds: 1 },
    ])
    tell('(a) node-llama-cpp: first token on return', ours.returns, computed.returns, '>= 6')
    cold.log.tell()
    tell('(a) with a spare worker', ahead.returns, computed.returns, '>= 12')
    spare.log.tell()
  })
}

/** (a) with llama-server, beside a plain one that is restarted at each swap. */
export async function swapsOfLlamaServer() {
  const [ours, off] = [
    await Alternating.start('llama-server', TOKENS, CONTEXT),
    await Alternating.start('llama-server', TOKENS, CONTEXT, OFF),
  ]
  const [hand, again] = [true, false].map((saves) => new ByHand(openings(TOKENS), CONTEXT, saves))
  await closing([ours, off, hand, again], async () => {
    const [parked, computed, byHand, prefilled] = await compare([
      { player: ours, rounds: ROUNDS },
      { player: off, rounds: 1 },
      { player: hand, rounds: ROUNDS },
      { player: again, rounds: 1 },
    ])
    tellByHand(byHand.returns)
    tell('(a) llama-server: first token on return', parked.returns, computed.returns, '>= 9')
    tellAgainst(parked.returns, byHand.returns)
    const peers = prefilled.returns.map(({ first }) => first)
    row('   a plain server that is restarted and computes, ms', spread(peers, 0))
    ours.log.tell()
  })
}

function tellByHand(turns) {
  const part = (name) => median(turns.map(({ parts }) => parts[name])).toFixed(0)
  row(
    '(a) llama-server by hand: parts, ms',
    ['save', 'stop', 'load', 'restore', 'answer'].map((name) => `${name} ${part(name)}`).join(', '),
  )
  row(
    '   in all, ms',
    spread(
      turns.map(({ first }) => first),
      0,
    ),
  )
}

function tellAgainst(ours, hand) {
  const firsts = [ours, hand].map((turns) => turns.map(({ first }) => first))
  row('   through Modelyard ÷ by hand', spread(ratios(...firsts)), '<= 1.15')
}

/** (a) with 6,000 tokens: what a prefill costs is told by the first turns. */
export async function longSwaps(engine) {
  const ours = await Alternating.start(engine, LONG_TOKENS, LONG_CONTEXT)
  await closing([ours], async () => {
    const [{ first, returns }] = await compare([{ player: ours, rounds: ROUNDS }])
    tell(`(a) ${engine}, 6,000 tokens: first token on return`, returns, first, '>= 25')
    ours.log.tell()
  })
}

/** (d) The server ends and starts in between; the clock starts with the request, the model is not loaded. */
export async function restarts(engine) {
  const home = newHome()
  const once = async (settings, known) => {
    const server = await startServer({ m: modelOf(engine) }, settings, home)
    try {
      const conversation = new Conversation(server.url, 'm', words(1, TOKENS))
      conversation.messages = known ?? conversation.messages
      const turn = await conversation.turn(known === undefined ? undefined : 'And then?')
      return { turn, messages: conversation.messages }
    } finally {
      await server.stop()
    }
  }
  try {
    const { messages } = await once({})
    const [parked, computed] = [[], []]
    for (let round = 0; round < ROUNDS; round++) parked.push((await once({}, messages)).turn)
    const folder = join(home.path, 'contexts')
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
    computed.push((await once(OFF, messages)).turn)
    tell(`(d) ${engine}, a restart of the server in between: first token`, parked, computed)
    row('   files, MB', (bytes / 1e6).toFixed(1))
  } finally {
    home.remove()
  }
}
