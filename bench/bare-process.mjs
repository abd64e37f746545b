import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ENGINES, ROOT } from './server.mjs'

/** A user's turn in SmolLM2's template. */
export function rendered(text) {
  return `<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`
}

/** The engine alone in a process of its own, with four sequences. */
export async function startBareEngine(model, { threads, contextSize }) {
  const child = fork(
    join(ROOT, 'bench/bare-engine.mjs'),
    [model, ENGINES, threads, 4, contextSize].map(String),
  )
  await once(child, 'message')
  return {
    async ask(prompts, count, piece) {
      child.send({ prompts, count, piece })
      const [answer] = await once(child, 'message')
      return answer
    },
    stop: () => child.disconnect(),
  }
}
