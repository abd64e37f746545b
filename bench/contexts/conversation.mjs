import { MODEL, streamChat } from '../server.mjs'
import { median, row, spread } from '../statistics.mjs'

/** What both engines are asked for; a decode on one core, as the plan has it on a machine of two. */
export const ENGINES = {
  'node-llama-cpp': { engine: 'node-llama-cpp', device: { threads: 1, gpu: false } },
  'llama-server': { engine: 'llama-server', device: { gpu: false } },
}

/** @param engine a name of {@link ENGINES} @param context tokens of each slot */
export function modelOf(engine, context = 4096, slots = 1) {
  return { file: MODEL, context, slots, system: '', keepAlive: -1, ...ENGINES[engine] }
}

/** About as many tokens of words that no other seed has; a number is a few tokens. */
export function words(seed, tokens) {
  const list = Array.from(
    { length: Math.round(tokens / 4.4) },
    (_, index) => `word${(index * 7919 + seed * 104_729) % 9973}`,
  )
  return `Text ${seed}. ${list.join(' ')}`
}

const user = (content) => ({ role: 'user', content })
const assistant = (content) => ({ role: 'assistant', content })

/** A conversation with a server: each turn says when its first token came, and how much was reused. */
export class Conversation {
  messages
  /** @param more fields of each request */
  constructor(url, model, opening, { system, more = {} } = {}) {
    this.url = url
    this.model = model
    this.more = more
    const before = system === undefined ? [] : [{ role: 'system', content: system }]
    this.messages = [...before, user(opening)]
  }

  async turn(text, count = 4) {
    if (text !== undefined) this.messages = [...this.messages, user(text)]
    const { url, model, messages, more } = this
    const answer = await streamChat(url, { model, temperature: 0, max_tokens: count, messages, ...more })
    this.messages = [...messages, assistant(answer.text)]
    const cached = answer.usage.prompt_tokens_details?.cached_tokens ?? 0
    return { first: answer.times[0], prompt: answer.usage.prompt_tokens, cached }
  }
}

/** Rows that set turns with a parked context beside those that compute it again. */
export function tell(name, parked, computed, target) {
  const [ours, theirs] = [parked, computed].map((turns) => turns.map(({ first }) => first))
  row(`${name}, ms`, spread(ours, 0))
  row('   the same with prefill, ms', spread(theirs, 0))
  row('   how many times shorter', (median(theirs) / median(ours)).toFixed(1), target)
  row('   reused of the prompt', parked.map(({ cached, prompt }) => `${cached}/${prompt}`).join(' '))
}
