import { toModelyardError } from './base/errors.ts'
import type { EventBus } from './events/event-bus.ts'
import type { ModelSpec } from './models/model-spec.ts'
import type { ContextListing } from './pool/context-listing.ts'
import type { WarmRequest } from './runs/library-request.ts'

interface BeginningSurroundings {
  bus: EventBus
  specOf: (model: string) => ModelSpec | undefined
  contexts: () => readonly ContextListing[]
  warm: (request: WarmRequest) => Promise<unknown>
}

/**
 * P7: what configuration says a model's conversations begin with is evaluated when a copy of it is ready, if that is not on disk already, behind
 * all who wait. A failure is a warning: the first request computes it. @returns ends it
 */
export function evaluateBeginnings(around: BeginningSurroundings): () => void {
  return around.bus.subscribe((event) => {
    if (event.name !== 'load-finished') return
    const { model } = event.data
    const beginnings = beginningsOf(around.specOf(model))
    const kept = around.contexts().filter((context) => context.model === model && context.kept)
    if (kept.length < beginnings.length) void evaluate(around, model, beginnings)
  })
}

type Beginning = Pick<WarmRequest, 'messages' | 'prompt'>

function beginningsOf({ initialMessages, prefix }: Partial<ModelSpec> = {}): Beginning[] {
  return [
    ...(initialMessages === undefined ? [] : [{ messages: initialMessages }]),
    ...(prefix === undefined ? [] : [{ prompt: prefix }]),
  ]
}

async function evaluate(
  { bus, warm }: BeginningSurroundings,
  model: string,
  beginnings: readonly Beginning[],
): Promise<void> {
  try {
    for (const beginning of beginnings) await warm({ model, ...beginning, priority: 'background' })
  } catch (thrown) {
    const { code, message } = toModelyardError(thrown)
    if (code === 'shutting_down') return
    bus.emit('warning-raised', {
      code,
      message: `The beginning of "${model}" could not be evaluated ahead: ${message}`,
    })
  }
}
