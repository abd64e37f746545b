// An engine of one's own: it answers from a list, at the speed of somebody who types. Used by faq.yaml, tested by faq-engine.test.ts.
import { setTimeout as pause } from 'node:timers/promises'
import { contentText, defineEngine, type Engine } from 'modelyard'

interface FaqOptions {
  /** Question → answer. */
  answers: Record<string, string>
  wordsPerSecond: number
}

const faq: Engine = defineEngine<FaqOptions>({
  name: 'faq',
  tasks: ['chat'],

  // What stands in the model's entry. What is thrown here is told with the model's name, before anything is loaded.
  options({ answers = {}, wordsPerSecond = 50, ...others }) {
    const [unknown] = Object.keys(others)
    if (unknown !== undefined)
      throw new Error(`"${unknown}" is no option; known are answers and wordsPerSecond.`)
    if (typeof answers !== 'object' || answers === null) throw new Error('answers must be a map.')
    if (typeof wordsPerSecond !== 'number' || wordsPerSecond <= 0)
      throw new Error('wordsPerSecond must be a number above 0.')
    return { answers: answers as Record<string, string>, wordsPerSecond }
  },

  // What it takes of this process's memory: booked like any other model's.
  memory: ({ options }) => Buffer.byteLength(JSON.stringify(options)),

  load({ options: { answers, wordsPerSecond } }) {
    const known = new Map(Object.entries(answers).map(([question, answer]) => [plain(question), answer]))
    return {
      // Each piece is a token of the answer. Stop strings, most tokens, cancelling and unloading are kept around it.
      async *run(task, { signal }) {
        if (task.kind !== 'chat') return
        const asked = plain(contentText(task.messages.at(-1)?.content ?? ''))
        const answer = known.get(asked) ?? 'I have no answer to that. Please ask a person.'
        for (const word of answer.match(/\s*\S+/g) ?? []) {
          await pause(1000 / wordsPerSecond, undefined, { signal })
          yield word
        }
      },
    }
  },
})
export default faq

/** Case, spaces and marks at the end make no other question. */
function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replace(/[?!. ]+$/, '')
    .trim()
}
