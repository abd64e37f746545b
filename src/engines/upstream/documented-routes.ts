import { isMap, parseMap } from '../../base/is-map.ts'
import type { EndpointAbility, EndpointFacts } from '../../models/model-facts.ts'

/** What a server says of itself beside its models. */
export interface ServerFacts {
  abilities: EndpointAbility[]
  contextLength?: number
  counting?: NonNullable<EndpointFacts['counting']>
}

/** Routes of the tasks, behind the beginning of the API. */
const ROUTES = {
  chat: '/chat/completions',
  completion: '/completions',
  embedding: '/embeddings',
  rerank: '/rerank',
  transcription: '/audio/transcriptions',
  speech: '/audio/speech',
  image: '/images/generations',
}

/**
 * What `GET /openapi.json` of vLLM, SGLang and others shows: a route that it does not name is not there. One that it names may still refuse
 * this model. @param base path of the API's beginning, `/v1`
 */
export function readDocumentedRoutes(text: string, base: string): ServerFacts | undefined {
  const paths = fieldsOf(parseMap(text)?.['paths'])
  if (paths === undefined) return undefined
  const has = (path: string): boolean => Object.hasOwn(paths, path)
  const tasks = Object.entries(ROUTES).map(([name, path]) => ({
    name,
    has: has(base + path),
    source: 'the routes that it documents',
  }))
  // None of them: the document is about something else.
  if (!tasks.some((task) => task.has)) return undefined
  return { abilities: tasks, ...(has('/tokenize') && { counting: 'tokenize-messages' }) }
}

/** What `GET /props` of llama.cpp's server shows: its template, what it reads beside text, and how long a conversation may be. */
export function readServerProperties(text: string): ServerFacts | undefined {
  const properties = parseMap(text)
  if (properties === undefined) return undefined
  const source = 'its /props'
  const template = fieldsOf(properties['chat_template_caps'])
  const modalities = fieldsOf(properties['modalities'])
  const pairs: [string, unknown][] = [
    ['tools', template?.['supports_tools']],
    ['images', modalities?.['vision']],
    ['audio', modalities?.['audio']],
  ]
  const context = fieldsOf(properties['default_generation_settings'])?.['n_ctx']
  return {
    abilities: pairs.flatMap(([name, has]) => (typeof has === 'boolean' ? [{ name, has, source }] : [])),
    ...(typeof context === 'number' && context > 0 && { contextLength: context }),
    counting: 'apply-template',
  }
}

function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  return isMap(value) ? value : undefined
}
