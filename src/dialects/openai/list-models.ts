import { checkModelName } from '../decode-model.ts'
import type { DialectAction, DialectRequest } from '../dialect.ts'
import { canAnswer } from '../model-list.ts'
import type { ModelListing } from '../yard-port.ts'

function modelObject(listing: ModelListing): Record<string, unknown> {
  return {
    id: listing.id,
    object: 'model',
    created: listing.created,
    owned_by: 'modelyard',
    aliases: listing.aliases,
    name: listing.name,
    favourite: listing.favourite,
    context_length: listing.contextLength,
    purpose: listing.purpose,
    capabilities: listing.capabilities,
    state: listing.state,
    ...(listing.problem !== undefined && { problem: listing.problem }),
  }
}

function json(value: unknown): { contentType: string; body: string } {
  return { contentType: 'application/json', body: JSON.stringify(value) }
}

/** `GET /v1/models` */
export function listModels(): DialectAction {
  return {
    type: 'answer',
    answer: async (port) =>
      json({ object: 'list', data: (await port.listModels()).filter(canAnswer).map(modelObject) }),
  }
}

/** `GET /v1/models/{id}`; ids with slashes come raw or as %2F (BR-12). */
export function findModel({ params }: DialectRequest): DialectAction {
  const name = params['*'] ?? ''
  checkModelName(name)
  return { type: 'answer', answer: async (port) => json(modelObject(await port.findModel(name))) }
}
