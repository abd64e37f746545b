import type { JsonSchema } from '../../base/shape.ts'

/** What the OpenAPI document says of one route. */
export interface RouteDescription {
  summary: string
  /** Fields of the query. */
  query?: Record<string, JsonSchema>
  body?: JsonSchema
  /** JSON, or the content type of something else. */
  answer: JsonSchema | string
  /** Statuses of errors, and what each means here. */
  errors: Record<number, string>
}

/** Routes by method and path; `*` is the rest of the path. */
export type Descriptions = Readonly<Record<string, RouteDescription>>

/** Errors of every route that is not open to all. */
export const ADMIN: RouteDescription['errors'] = {
  401: 'the key is missing or wrong',
  403: 'a page or host that may not',
}

/** Errors of a route that takes fields. */
export const BAD: RouteDescription['errors'] = {
  ...ADMIN,
  400: 'a field is missing, unknown or wrong; details.param names it',
}

/** Errors of a route for which a model works. */
export const INFERENCE: RouteDescription['errors'] = {
  ...BAD,
  400: 'a field is wrong, an input is too long or damaged, or the model cannot do it; details.param names the field',
  404: 'no such model',
  503: 'no memory now, or the load failed; Retry-After',
  507: 'can never fit',
}
