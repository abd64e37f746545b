import { ModelyardError } from '../../base/errors.ts'
import type { JsonSchema } from '../../base/shape.ts'
import type { ServerRoute } from '../server-route.ts'
import { CONTROL_DESCRIPTIONS } from './control-descriptions.ts'
import type { RouteDescription } from './route-description.ts'
import { NUMBER_OR_NULL, record, TEXT } from './schema-words.ts'

const ERROR: JsonSchema = record({
  error: record({
    code: TEXT,
    message: TEXT,
    details: { type: 'object' },
    retryAfter: NUMBER_OR_NULL,
    requestId: TEXT,
  }),
})

/** The control API as an OpenAPI 3.1 document, from the routes that are really there. @throws ModelyardError `internal` for a route nobody described */
export function openApiDocument(
  routes: readonly Pick<ServerRoute, 'method' | 'path' | 'scope'>[],
  version: string,
): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace(/\*$/, '{name}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Modelyard control API', version },
    paths,
    components: {
      schemas: { Error: ERROR },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
  }
}

function operation({ method, path, scope }: Pick<ServerRoute, 'method' | 'path' | 'scope'>): object {
  const description = CONTROL_DESCRIPTIONS[`${method} ${path}`]
  if (description === undefined) throw new ModelyardError('internal', `Nobody described ${method} ${path}.`)
  const { summary, body } = description
  const parameters = parametersOf(path, description)
  return {
    summary,
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-z]+(\w?)/gi, (_, letter: string) => letter.toUpperCase())}`,
    ...(scope !== 'open' && { security: [{}, { bearer: [] }, { apiKey: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
    }),
    responses: responsesOf(description),
  }
}

function parametersOf(path: string, { query = {} }: RouteDescription): object[] {
  const inPath = path.endsWith('*')
    ? [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }]
    : []
  return [...inPath, ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema }))]
}

function responsesOf({ answer, errors }: RouteDescription): object {
  const content =
    typeof answer === 'string'
      ? { [answer]: { schema: { type: 'string' } } }
      : { 'application/json': { schema: answer } }
  const failures = Object.entries(errors).map(([status, description]) => [
    status,
    { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
  ])
  return { 200: { description: 'Done.', content }, ...Object.fromEntries(failures) }
}
