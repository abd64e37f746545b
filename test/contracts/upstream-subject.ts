import type { Engine, LoadPlan } from '../../src/engines/engine.ts'
import type { EngineContractSubject } from '../../src/testing/index.ts'
import type { ModelFacts } from '../../src/models/model-facts.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { HOST, specOf } from '../node-llama-cpp/fixtures.ts'
import { SCRIPT, scriptedSubject } from './scripted-subject.ts'

const FACTS: ModelFacts = { format: 'none', fileSize: 0, contentId: 'none', purpose: 'generation' }

/** Another yard on this machine, whose scripted models the upstream engine asks for. */
export async function openRemote(home: string): Promise<{ yard: Yard; url: string }> {
  const yard = await createYard({
    home,
    models: {
      talker: { engine: 'scripted', slots: 16, script: SCRIPT },
      embedder: { engine: 'scripted', slots: 16, dimensions: 64 },
    },
  })
  const { url } = await yard.listen({ port: 0 })
  return { yard, url }
}

const GAPS = {
  'ends at the end of its context with length, never beyond it': 'the upstream knows its context',
  'counts tokens while it generates, and not for somebody who has left':
    "an upstream's tokenizer is there, not here",
  'counts exactly: started, result and countTokens agree': "an upstream's tokenizer is there, not here",
  'counts the tokens of all inputs': "an upstream's tokenizer is there, not here",
  'refuses a prompt that does not fit with both numbers, before the first part':
    'the upstream knows its context, and says so in its own words (test/upstream)',
  'ends before a stop string that lies across tokens, and names it':
    'an OpenAI API does not say which stop string came',
  'clears the slot where no prefix is kept (F1)':
    'what an upstream caches is its own affair; it compares tokens itself',
  'takes no text of a user for the marks of its prompt format (P15)': 'the prompt is rendered there',
  'writes a slot to a file and reads it back into another slot, and no foreign file': 'contexts are there',
}

/** What the contract must know of the upstream engine: the same conversations, over HTTP. */
export function upstreamSubject(engine: Engine, urlOf: () => string): EngineContractSubject {
  const plan = (remoteModel: string, slots: number, context?: number, more: object = {}): LoadPlan =>
    engine.plan(
      specOf({
        engine: 'upstream',
        slots,
        ...(context !== undefined && { context }),
        engineOptions: {
          url: `${urlOf()}/v1`,
          remoteModel,
          memory: '1MiB',
          capabilities: { prefill: true },
          ...more,
        },
      }),
      FACTS,
      HOST,
    )
  const { chats, endless, longPrompt, controlText, unicode, continuation, embedding } =
    scriptedSubject(engine)
  return {
    engine,
    plan: ({ slots, contextSize }) => plan('talker', slots, contextSize),
    chats,
    endless,
    longPrompt,
    controlText,
    corrupt: { failure: 'bad_option', plan: () => plan('nobody', 1) },
    foreignOption: () => plan('talker', 1, 512, { banana: 1 }),
    gaps: GAPS,
    ...(unicode !== undefined && { unicode }),
    ...(continuation !== undefined && { continuation }),
    ...(embedding !== undefined && {
      embedding: { ...embedding, plan: () => plan('embedder', 4) },
    }),
  }
}
