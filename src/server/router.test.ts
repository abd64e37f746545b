import { describe, expect, it } from 'vitest'
import { controlErrors } from './control-errors.ts'
import { plainPath, queryOf, Router } from './router.ts'
import type { ServerRoute } from './server-route.ts'

function route(method: ServerRoute['method'], path: string): ServerRoute {
  return {
    method,
    path,
    body: 'none',
    scope: 'open',
    shape: controlErrors,
    anyContentType: false,
    handle: () => undefined,
  }
}

const router = new Router([
  route('GET', '/v1/models'),
  route('GET', '/v1/models/*'),
  route('POST', '/v1/chat/completions'),
  route('DELETE', '/api/delete'),
  route('POST', '/api/delete'),
])

describe('routes (BR-12)', () => {
  it.each([
    ['/v1/models', '/v1/models'],
    ['//v1///models//', '/v1/models'],
    ['/v1/models?x=//y/', '/v1/models'],
    ['http://host:1/v1/models', '/v1/models'],
    ['/', '/'],
    ['*', '*'],
    ['', ''],
  ])('the plain path of %s is %s', (url, path) => {
    expect(plainPath(url)).toBe(path)
  })

  it.each([
    ['GET', '/v1/models', '/v1/models', {}],
    ['HEAD', '/v1/models/', '/v1/models', {}],
    ['GET', '/v1/models/a/b:c', '/v1/models/*', { '*': 'a/b:c' }],
    ['GET', '/v1/models/a%2Fb%20c', '/v1/models/*', { '*': 'a/b c' }],
    ['POST', '/v1//chat/completions', '/v1/chat/completions', {}],
  ])('%s %s', (method, url, path, params) => {
    expect(router.find(method, url)).toMatchObject({ route: { path }, params })
  })

  it.each([
    ['POST', '/v1/models'],
    ['HEAD', '/v1/chat/completions'],
    ['GET', '/v1/chat'],
    ['GET', '/v1/modelsx'],
    ['GET', '/V1/models'],
  ])('%s %s is no route', (method, url) => {
    expect(router.find(method, url).route).toBeUndefined()
  })

  it('names the methods of a path', () => {
    expect(
      ['/v1/models', '/v1/models/x', '/api/delete', '/nope'].map((path) => router.methods(path).join()),
    ).toEqual(['GET,HEAD,OPTIONS', 'GET,HEAD,OPTIONS', 'DELETE,POST,OPTIONS', ''])
  })

  it('a broken percent sign is the client’s error', () => {
    expect(() => router.find('GET', '/v1/models/%E0%A4%A')).toThrow('percent sign')
  })

  it('a path that two dialects have goes to the one whose errors are asked for, else to the first', () => {
    const first = route('GET', '/v1/models')
    const other = { ...first, shape: { errorBody: () => 'other' } }
    const rivals = new Router([first, other])
    expect(rivals.find('GET', '/v1/models', other.shape).route).toBe(other)
    expect(rivals.find('HEAD', '/v1/models').route).toBe(first)
    expect(rivals.methods('/v1/models')).toEqual(['GET', 'HEAD', 'OPTIONS'])
  })

  it('a route for HEAD alone takes no GET', () => {
    const blobs = new Router([route('HEAD', '/api/blobs/*')])
    expect(blobs.find('HEAD', '/api/blobs/sha256:0').route?.method).toBe('HEAD')
    expect(blobs.find('GET', '/api/blobs/sha256:0').route).toBeUndefined()
    expect(blobs.methods('/api/blobs/x')).toEqual(['HEAD', 'OPTIONS'])
  })

  it.each([
    ['/api/tags', ''],
    ['/api/tags?', ''],
    ['/v1/messages?beta=true&x=%3F', 'beta=true&x=%3F'],
  ])('the query of %s is "%s"', (url, query) => {
    expect(queryOf(url)).toBe(query)
  })
})
