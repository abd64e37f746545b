import type { Priority } from '../limits.ts'
import { defaultLimits } from './default-limits.ts'
import { randomNumbers } from './random.ts'
import type { SimulatedModel } from './simulated-model.ts'
import type { Trace, TraceRequest } from './trace.ts'

const GIB = 1024 ** 3
const SECOND = 1000
const MINUTE = 60 * SECOND

function model(id: string, gib: number, loadSeconds: number): SimulatedModel {
  const ram = { weights: gib * GIB, context: 0, compute: 0, base: 0 }
  const loadTime = loadSeconds * SECOND
  return { id, footprint: { ram }, slots: 8, keepAlive: -1, loadTime, warmUpTime: 200, unloadTime: 300 }
}

/** Two agents that wait for each answer, each with a model of its own, and memory for one of the two. */
export function twoAgents(rounds = 200): Trace {
  const requests = Array.from({ length: 2 * rounds }, (_, index): TraceRequest => {
    const agent = index % 2
    const conversation = agent === 0 ? 'a' : 'b'
    const turn = Math.floor(index / 2)
    return { at: agent * 100, model: conversation, hold: 600, conversation, turn, think: 150 }
  })
  const models = [model('a', 6, 4), model('b', 6, 4)]
  return { limits: defaultLimits({ ram: 8 * GIB }), host: { ram: 16 * GIB }, models, requests }
}

/** Two agents with long conversations: the same, with prompts of 1,600 tokens and more that take 5 ms each, and a disk for contexts. */
export function twoLongConversations(rounds = 40): Trace {
  const { limits, models, requests, host } = twoAgents(rounds)
  return {
    limits: { ...limits, parking: { mode: 'worth', budget: GIB } },
    host,
    models: models.map((one) => ({
      ...one,
      parks: true,
      prefillPerToken: 5,
      bytesPerToken: 25_600,
      contextSize: 32_768,
    })),
    requests: requests.map((request) => {
      const tokens = 1600 + 100 * (request.turn ?? 0)
      return { ...request, tokens, hold: 5 * tokens + request.hold }
    }),
  }
}

/** Sets of five models that do not fit together, and the gibibytes there are for them. */
export const MODEL_SETS: Record<string, { budget: number; models: readonly SimulatedModel[] }> = {
  /** Of about the same size, two of them on a slow disk. */
  slowDisk: {
    budget: 24,
    models: [model('a', 7, 3), model('b', 8, 4), model('c', 8, 6), model('d', 7, 30), model('e', 8, 60)],
  },
  /** Of all sizes, and the larger the slower. */
  mixed: {
    budget: 30,
    models: [model('a', 3, 2), model('b', 9, 6), model('c', 13, 9), model('d', 7, 25), model('e', 20, 40)],
  },
  /** The time to load grows with the size and with nothing else. */
  even: {
    budget: 24,
    models: [model('a', 4, 2), model('b', 6, 3), model('c', 8, 4), model('d', 9, 4.5), model('e', 12, 6)],
  },
}

export interface UsersHabits {
  /** Part of the sessions in which a user takes the usual model and not any of the five. */
  usual: number
  /** Minutes between two sessions. */
  pause: readonly [least: number, most: number]
}

/** People who come and go all day, and like to try things. */
export const CALM: UsersHabits = { usual: 0.3, pause: [20, 60] }
/** People who work without many pauses, mostly with the same model. */
export const BUSY: UsersHabits = { usual: 0.7, pause: [1, 15] }

/** Eight users who share five models: each session keeps to one model, with some thought before each of its turns. */
export function eightUsers(
  set: keyof typeof MODEL_SETS,
  { usual, pause }: UsersHabits,
  seed: number,
  sessions = 40,
): Trace {
  const { budget, models } = MODEL_SETS[set] as (typeof MODEL_SETS)[string]
  const random = randomNumbers(seed)
  const between = (least: number, most: number): number => least + random() * (most - least)
  const requests: TraceRequest[] = []
  for (let user = 0; user < 8; user++) {
    let at = between(0, 10 * MINUTE)
    for (let session = 0; session < sessions; session++) {
      const choice = random() < usual ? user : Math.floor(random() * models.length)
      const { id } = models[choice % models.length] as SimulatedModel
      const turns = 1 + Math.floor(random() * 8)
      for (let turn = 0; turn < turns; turn++) {
        const conversation = `user ${user}, session ${session}`
        requests.push({ at, model: id, hold: between(2, 12) * SECOND, conversation, turn })
        at += between(10, 60) * SECOND
      }
      at += between(...pause) * MINUTE
    }
  }
  return { limits: defaultLimits({ ram: budget * GIB }), host: { ram: 2 * budget * GIB }, models, requests }
}

/** Two hundred requests within two seconds, over five models, of all classes. */
export function burst(seed: number): Trace {
  const { budget, models } = MODEL_SETS['mixed'] as (typeof MODEL_SETS)[string]
  const random = randomNumbers(seed)
  const classes: readonly Priority[] = ['interactive', 'normal', 'background']
  const requests = Array.from({ length: 200 }, (_, index): TraceRequest => {
    const { id } = models[Math.floor(random() * models.length)] as SimulatedModel
    const priority = classes[index % classes.length] as Priority
    return { at: index * 10, model: id, hold: 500 + random() * 2000, priority }
  })
  return { limits: defaultLimits({ ram: budget * GIB }), host: { ram: 2 * budget * GIB }, models, requests }
}
