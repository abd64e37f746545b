import { ModelyardError } from '../base/errors.ts'
import type { ServerRoute } from './server-route.ts'

/** Where a request belongs. `path` is the plain one, for whoever has to refuse it. */
export interface RouteMatch {
  path: string
  route?: ServerRoute
  params: Record<string, string>
}

interface Subtree {
  prefix: string
  routes: Map<string, ServerRoute>
}

const NO_PARAMS: Record<string, string> = {}

/**
 * Exact paths and subtrees (`/*`). A framework's router does more, but loading one took longer than the rest of the start
 * (fastify 5: +200 ms, +17 MiB on the reference machine).
 */
export class Router {
  readonly #exact = new Map<string, Map<string, ServerRoute>>()
  readonly #subtrees: Subtree[] = []

  constructor(routes: readonly ServerRoute[]) {
    for (const route of routes) this.#methodsOf(route.path).set(route.method, route)
  }

  #methodsOf(path: string): Map<string, ServerRoute> {
    const prefix = path.endsWith('/*') ? path.slice(0, -1) : undefined
    const known =
      prefix === undefined
        ? this.#exact.get(path)
        : this.#subtrees.find((subtree) => subtree.prefix === prefix)?.routes
    if (known !== undefined) return known
    const methods = new Map<string, ServerRoute>()
    if (prefix === undefined) this.#exact.set(path, methods)
    else this.#subtrees.push({ prefix, routes: methods })
    return methods
  }

  /** @throws ModelyardError `invalid_request` for a broken percent sign in a parameter */
  find(method: string, url: string): RouteMatch {
    const path = plainPath(url)
    const route = methodRoute(this.#exact.get(path), method)
    if (route !== undefined) return { path, route, params: NO_PARAMS }
    const subtree = this.#subtreeOf(path)
    const below = methodRoute(subtree?.routes, method)
    if (subtree === undefined || below === undefined) return { path, params: NO_PARAMS }
    return { path, route: below, params: { '*': decodeParameter(path.slice(subtree.prefix.length)) } }
  }

  /** Methods that the path takes, empty for an unknown one. */
  methods(path: string): string[] {
    const routes = this.#exact.get(path) ?? this.#subtreeOf(path)?.routes
    const methods = [...(routes?.keys() ?? [])]
    if (methods.length === 0) return []
    return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
  }

  #subtreeOf(path: string): Subtree | undefined {
    return this.#subtrees.find(({ prefix }) => path.length > prefix.length && path.startsWith(prefix))
  }
}

/** HEAD is GET without a body. */
function methodRoute(routes: Map<string, ServerRoute> | undefined, method: string): ServerRoute | undefined {
  return routes?.get(method === 'HEAD' ? 'GET' : method)
}

/** The path without query and origin, with single slashes and none at the end (BR-12). */
export function plainPath(url: string): string {
  const end = url.indexOf('?')
  let path = end < 0 ? url : url.slice(0, end)
  if (path.charCodeAt(0) !== 47) path = path.replace(/^https?:\/\/[^/]*/i, '')
  if (path.includes('//')) path = path.replaceAll(/\/{2,}/g, '/')
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

function decodeParameter(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ModelyardError('invalid_request', 'The path has a broken percent sign.')
  }
}
