import { ModelyardError } from '../base/errors.ts'
import { nearestNames } from '../base/nearest.ts'
import { asFields } from '../dialects/fields.ts'
import { CONTROL_DESCRIPTIONS } from './openapi/control-descriptions.ts'
import { queryFields } from './query-fields.ts'

/**
 * The fields of a query, those that the OpenAPI document has for the route (`GET /api/yard/runs`) and no others: what it says is what is taken.
 * @throws ModelyardError `invalid_request` naming the field
 */
export function describedQuery(route: string, query: string): Partial<Record<string, string>> {
  return queryFields(query, Object.keys(CONTROL_DESCRIPTIONS[route]?.query ?? {}))
}

/** The same of a body. @throws ModelyardError `invalid_request` naming the field */
export function describedBody(route: string, body: unknown): Record<string, unknown> {
  const fields = asFields(body, 'body')
  const { properties = {} } = (CONTROL_DESCRIPTIONS[route]?.body ?? {}) as { properties?: object }
  const known = Object.keys(properties)
  const stranger = Object.keys(fields).find((name) => !known.includes(name))
  if (stranger === undefined) return fields
  const [near] = nearestNames(stranger, known, 1)
  const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean '${near}'?`
  throw new ModelyardError('invalid_request', `'${stranger}' is not known here; ${hint}`, {
    details: { param: stranger },
  })
}
