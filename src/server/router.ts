import { ModelyardError } from '../base/errors.ts'
import type { ErrorShape } from './exchange.ts'
import type { ServerRoute } from './server-route.ts'

/** Where a request belongs. `path` is the plain one, for whoever has to refuse it. */
export interface RouteMatch {
  path: string
  route?: ServerRoute
  params: Record<string, string>
}

/** By method; several only where dialects share a path. */
type Routes = Map<string, ServerRoute[]>

interface Subtree {
  prefix: string
  routes: Routes
}

const NO_PARAMS: Record<string, string> = {}

/**
 * Exact paths and subtrees (`/*`). A framework's router does more, but loading one took longer than the rest of the start
 * (fastify 5: +200 ms, +17 MiB on the reference machine).
 */
export class Router {
  readonly #exact = new Map<string, Routes>()
  readonly #subtrees: Subtree[] = []

  constructor(routes: readonly ServerRoute[]) {
    for (const route of routes) {
      const methods = this.#methodsOf(route.path)
      const rivals = methods.get(route.method)
      if (rivals === undefined) methods.set(route.method, [route])
      else rivals.push(route)
    }
  }

  #methodsOf(path: string): Routes {
    const prefix = path.endsWith('/*') ? path.slice(0, -1) : undefined
    const known =
      prefix === undefined
        ? this.#exact.get(path)
        : this.#subtrees.find((subtree) => subtree.prefix === prefix)?.routes
    if (known !== undefined) return known
    const methods: Routes = new Map()
    if (prefix === undefined) this.#exact.set(path, methods)
    else this.#subtrees.push({ prefix, routes: methods })
    return methods
  }

  /**
   * Where dialects share a path, the route of the one whose errors are `shape` is taken, else the first.
   * @throws ModelyardError `invalid_request` for a broken percent sign in a parameter
   */
  find(method: string, url: string, shape?: ErrorShape): RouteMatch {
    const path = plainPath(url)
    const route = methodRoute(this.#exact.get(path), method, shape)
    if (route !== undefined) return { path, route, params: NO_PARAMS }
    const subtree = this.#subtreeOf(path)
    const below = methodRoute(subtree?.routes, method, shape)
    if (subtree === undefined || below === undefined) return { path, params: NO_PARAMS }
    return { path, route: below, params: { '*': decodeParameter(path.slice(subtree.prefix.length)) } }
  }

  /** Methods that the path takes, empty for an unknown one. */
  methods(path: string): string[] {
    const routes = this.#exact.get(path) ?? this.#subtreeOf(path)?.routes
    const methods = [...(routes?.keys() ?? [])]
    if (methods.length === 0) return []
    const head = methods.includes('GET') && !methods.includes('HEAD')
    return [...methods, ...(head ? ['HEAD'] : []), 'OPTIONS']
  }

  #subtreeOf(path: string): Subtree | undefined {
    return this.#subtrees.find(({ prefix }) => path.length > prefix.length && path.startsWith(prefix))
  }
}

/** HEAD is GET without a body. */
function methodRoute(
  routes: Routes | undefined,
  method: string,
  shape: ErrorShape | undefined,
): ServerRoute | undefined {
  const rivals = routes?.get(method) ?? (method === 'HEAD' ? routes?.get('GET') : undefined)
  if (rivals === undefined || rivals.length === 1) return rivals?.[0]
  return rivals.find((route) => route.shape === shape) ?? rivals[0]
}

/** The path without query and origin, with single slashes and none at the end (BR-12). */
export function plainPath(url: string): string {
  const end = url.indexOf('?')
  let path = end < 0 ? url : url.slice(0, end)
  if (path.charCodeAt(0) !== 47) path = path.replace(/^https?:\/\/[^/]*/i, '')
  if (path.includes('//')) path = path.replaceAll(/\/{2,}/g, '/')
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** What follows the `?`, still encoded. */
export function queryOf(url: string): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}

function decodeParameter(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ModelyardError('invalid_request', 'The path has a broken percent sign.')
  }
}
