import { decodeBody } from '../decode-model.ts'
import type { AnswerAction, DialectAnswer, DialectRequest } from '../dialect.ts'
import { notImplemented, optionalBoolean } from '../fields.ts'
import { canAnswer } from '../model-list.ts'
import type { ModelCollection, ModelDescription, ResidentModel, YardPort } from '../yard-port.ts'
import { capabilitiesOf, detailsOf, modelInfo } from './describe-model.ts'
import { timestamp } from './lines.ts'
import { modelFileText, parametersText } from './model-file.ts'
import { decodeName, taggedName } from './model-name.ts'

/** What is written for a time that never comes: as far away as Go can say. */
const FOREVER = 9_223_372_036_854

/** The part of the port that manages models. @throws ModelyardError `unsupported` */
export function collectionOf({ collection }: YardPort): ModelCollection {
  if (collection !== undefined) return collection
  throw notImplemented('model', 'This server manages no models.')
}

function json(value: unknown): DialectAnswer {
  return { contentType: 'application/json', body: JSON.stringify(value) }
}

/** Fields that every list has. */
function summaryOf(description: ModelDescription): Record<string, unknown> {
  const name = taggedName(description.id)
  const { digest } = description
  return { name, model: name, digest, details: detailsOf(description) }
}

function tagOf(description: ModelDescription): Record<string, unknown> {
  return {
    ...summaryOf(description),
    modified_at: timestamp(description.modifiedAt),
    size: description.bytes,
    capabilities: capabilitiesOf(description),
  }
}

function residentOf(
  description: ModelDescription,
  resident: ResidentModel,
  now: number,
): Record<string, unknown> {
  return {
    ...summaryOf(description),
    size: resident.bytes,
    size_vram: resident.deviceBytes,
    context_length: resident.contextLength,
    // A keep_alive of thousands of years is no time a date can say.
    expires_at: timestamp(Math.min(resident.expiresAt ?? Infinity, now + FOREVER)),
  }
}

/** `GET /api/tags` */
export function listModels(): AnswerAction {
  return {
    type: 'answer',
    answer: async (port) =>
      json({ models: (await collectionOf(port).describeAll()).filter(canAnswer).map(tagOf) }),
  }
}

/** `GET /api/ps` */
export function listResidents({ now }: DialectRequest): AnswerAction {
  return {
    type: 'answer',
    answer: async (port) => {
      const collection = collectionOf(port)
      const models = collection.residents().map(async (resident) => {
        const description = await collection.describe(resident.model)
        return residentOf(description, resident, now())
      })
      return json({ models: await Promise.all(models) })
    },
  }
}

/** `POST /api/show` */
export function showModel({ body }: DialectRequest): AnswerAction {
  const fields = decodeBody(body)
  const name = decodeName(fields)
  optionalBoolean(fields, 'verbose')
  return {
    type: 'answer',
    answer: async (port) => json(shownModel(await collectionOf(port).describe(name))),
  }
}

function shownModel(description: ModelDescription): Record<string, unknown> {
  const { facts, system, recipe, modifiedAt } = description
  return {
    license: recipe?.license ?? '',
    modelfile: modelFileText(description),
    parameters: parametersText(description),
    template: facts?.gguf?.chatTemplate ?? '',
    ...(system === undefined || system === '' ? {} : { system }),
    details: detailsOf(description),
    ...(recipe?.messages === undefined ? {} : { messages: recipe.messages }),
    model_info: modelInfo(description),
    capabilities: capabilitiesOf(description),
    modified_at: timestamp(modifiedAt),
  }
}
