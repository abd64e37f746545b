import { ModelyardError } from '../base/errors.ts'
import type { Dialect, DialectRequest } from '../dialects/dialect.ts'
import { controlErrors } from './control-errors.ts'
import type { ErrorShape } from './exchange.ts'
import type { Router } from './router.ts'

/**
 * The shape of errors under a path: that of the API whose prefix it has, and of those with the same prefix the one that claims the
 * request; the first dialect's otherwise (BR-12).
 */
export function errorShapeOf(
  path: string,
  dialects: readonly Dialect[],
  headers: DialectRequest['headers'] = {},
): ErrorShape {
  if (path.startsWith('/api/yard/')) return controlErrors
  let best: { length: number; shape: ErrorShape } = { length: -1, shape: dialects[0] ?? controlErrors }
  for (const dialect of dialects) {
    for (const prefix of dialect.prefixes) {
      if (!isBelow(path, prefix) || prefix.length < best.length) continue
      if (prefix.length > best.length || dialect.claims?.(path, headers) === true)
        best = { length: prefix.length, shape: dialect }
    }
  }
  return best.shape
}

function isBelow(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/')
}

/** What is wrong with a request that no route takes, and the headers that go with it. */
export function unknownRoute(
  method: string,
  path: string,
  router: Router,
): { error: ModelyardError; headers: Record<string, string> } {
  const allow = router.methods(path).join(', ')
  if (allow !== '') {
    const message = `This path does not take ${method}; it takes ${allow}.`
    return { error: new ModelyardError('method_not_allowed', message), headers: { allow } }
  }
  const forgotten = router.methods(`/v1${path}`).length > 0
  const hint = forgotten ? ' Did you forget /v1? Base URLs of this API end with it.' : ''
  return { error: new ModelyardError('not_found', `There is no such path.${hint}`), headers: {} }
}
