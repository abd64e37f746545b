import { ModelyardError } from '../base/errors.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { controlErrors } from './control-routes.ts'
import type { ErrorShape } from './exchange.ts'
import type { ServerRoute } from './server-route.ts'

/** The path without its query, with single slashes and none at the end. */
export function plainPath(url: string): string {
  const path = url.split('?', 1)[0] ?? ''
  return path.replaceAll(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')
}

function matches({ path }: ServerRoute, asked: string): boolean {
  return path.endsWith('/*') ? asked.startsWith(path.slice(0, -1)) : path === asked
}

/** The shape of errors under a path: that of the API whose prefix it has, OpenAI's otherwise (BR-12). */
export function errorShapeOf(path: string, dialects: readonly Dialect[]): ErrorShape {
  if (path.startsWith('/api/yard/')) return controlErrors
  const prefixes = dialects
    .flatMap((dialect) => dialect.prefixes.map((prefix) => ({ prefix, dialect })))
    .filter(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
    .sort((a, b) => b.prefix.length - a.prefix.length)
  return prefixes[0]?.dialect ?? dialects[0] ?? controlErrors
}

/** What is wrong with a request that no route takes, and the headers that go with it. */
export function unknownRoute(
  method: string,
  path: string,
  routes: readonly ServerRoute[],
): { error: ModelyardError; headers: Record<string, string> } {
  const methods = routes.filter((route) => matches(route, path)).map((route) => route.method)
  if (methods.length > 0) {
    const allow = [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])].join(
      ', ',
    )
    const message = `This path does not take ${method}; it takes ${allow}.`
    return { error: new ModelyardError('method_not_allowed', message), headers: { allow } }
  }
  const forgotten = routes.find((route) => route.path.startsWith('/v1/') && matches(route, `/v1${path}`))
  const hint = forgotten === undefined ? '' : ` Did you mean /v1${path}? Base URLs of this API end with /v1.`
  return { error: new ModelyardError('not_found', `There is no such path.${hint}`), headers: {} }
}
