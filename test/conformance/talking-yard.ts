import type { ScriptEntry } from '../../src/engines/scripted/scripted-options.ts'
import { createYard, type Listening, type Yard } from '../../src/yard.ts'

const WEATHER: ScriptEntry = {
  match: '^weather',
  after: 'user',
  toolCalls: [
    { name: 'get_weather', arguments: ['{"city"', ':"Par', 'is"}'], id: 'call_paris' },
    { name: 'get_weather', arguments: ['{"city"', ':"Ro', 'me"}'], id: 'call_rome' },
  ],
}

/** What all clients are asked to have told. */
const SCRIPT: ScriptEntry[] = [
  WEATHER,
  { after: 'tool', text: 'It is mild in both.' },
  { match: '^think', reasoning: 'Let me see. ', text: 'Done.' },
  { match: '^odds', text: ['He', 'llo'], logprobs: [-0.25, -0.5] },
  { match: '^json', text: '{"name":"Ada","age":36}' },
  {
    match: '^emoji',
    text: [{ hex: '20 F0 9F' }, { hex: '98 B8' }, { hex: 'E4 BD' }, { hex: 'A0' }],
  },
  { match: '^greek', text: ['alpha', ' be', 'ta ga', 'mma delta'] },
  { match: '^long', text: 'word ', repeat: 400 },
  { match: '^forever', text: 'tick ', repeat: 100_000, delay: 5 },
  { match: '^what did you see', echo: 'prompt' },
  {
    match: '^break',
    text: 'one two three four',
    error: { at: 3, message: 'The engine gave up.', code: 'engine_failed' },
  },
  {
    match: '^crowd',
    error: { at: 'prefill', message: 'Too many wait.', code: 'queue_full', retryAfter: 10 },
  },
  {
    match: '^full',
    error: { at: 'prefill', message: 'No room.', code: 'insufficient_memory', retryAfter: 2000 },
  },
  {
    match: '^huge',
    error: {
      at: 'prefill',
      message: 'The prompt has 9000 tokens, the context holds 4096: more than the maximum context length.',
      code: 'context_length_exceeded',
    },
  },
  { text: 'Hello there, friend.' },
]

export interface TalkingYard {
  yard: Yard
  server: Listening
}

/**
 * A real yard whose models answer by a script: `talker` can everything, `plain` only text with 128 tokens, `vectors` embeds.
 * @param first entries that come before the common ones
 */
export async function startTalkingYard(key: string, first: ScriptEntry[] = []): Promise<TalkingYard> {
  const scripted = { engine: 'scripted', isolation: 'none' } as const
  const yard = await createYard({
    home: false,
    server: { keys: key, bodyLimit: '2MiB' },
    models: {
      talker: { ...scripted, aliases: ['org/talker:Q4'], script: [...first, ...SCRIPT] },
      plain: {
        ...scripted,
        context: 128,
        capabilities: { images: false, reasoning: false, prefill: false, tools: false },
      },
      vectors: { ...scripted, capabilities: { tasks: ['embedding'] }, dimensions: 64 },
    },
  })
  return { yard, server: await yard.listen({ host: '127.0.0.1', port: 0 }) }
}
