import { agents, oneSlot, overhead } from './contexts/one-model.mjs'
import { longSwaps, restarts, swapsOfLlamaServer, swapsOfNodeLlamaCpp } from './contexts/swaps.mjs'

const [ENGINE, SERVER] = ['node-llama-cpp', 'llama-server']

/** The parts of the bench by name; each takes less than six minutes. */
const PARTS = {
  swaps: swapsOfNodeLlamaCpp,
  'swaps-server': swapsOfLlamaServer,
  'long-swaps': () => longSwaps(ENGINE),
  'long-swaps-server': () => longSwaps(SERVER),
  slots: () => oneSlot(ENGINE),
  'slots-server': () => oneSlot(SERVER),
  agents: () => allAgents(ENGINE),
  'agents-server': () => allAgents(SERVER),
  restarts: () => restarts(ENGINE),
  'restarts-server': () => restarts(SERVER),
  overhead: () => overhead(ENGINE),
  'overhead-server': () => overhead(SERVER),
}

async function allAgents(engine) {
  for (const count of [2, 4, 8]) await agents(engine, count)
}

/** Contexts that survive: what is spared by parking, in ratios of one run (docs/contexts.md). About 20 minutes; `contexts:PART` runs one part. */
export const CONTEXT_BENCHES = {
  contexts: async () => {
    for (const run of Object.values(PARTS)) await run()
  },
  ...Object.fromEntries(Object.entries(PARTS).map(([name, run]) => [`contexts:${name}`, run])),
}
