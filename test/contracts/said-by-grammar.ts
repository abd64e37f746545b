import type { KnownChat } from '../../src/testing/index.ts'
import { chat } from '../node-llama-cpp/fixtures.ts'

/** What no test model says by itself, and any of them says that is held to it: characters of two, three and four bytes, each of several tokens. */
export const UNICODE: KnownChat = {
  task: chat('hi', {
    sampling: { temperature: 0 },
    format: { type: 'grammar', grammar: 'root ::= "é€😸你 é"' },
  }),
  answer: 'é€😸你 é',
}
