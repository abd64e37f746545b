import { isIP } from 'node:net'
import type { IncomingMessage } from 'node:http'
import { ModelyardError } from '../base/errors.ts'
import { KeyRing, type AccessScope } from './api-keys.ts'
import type { OriginList } from './origin-list.ts'
import type { ApiKeys } from './server-options.ts'

const HARMLESS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Who may do what. With keys, the key decides; without, only pages of this machine may change anything (BR-46). */
export class AccessPolicy {
  readonly #keys: KeyRing
  readonly #origins: OriginList
  readonly #hosts: ReadonlySet<string>
  /** What was sent last and is allowed: most requests name the same. */
  #accepted: string | undefined

  constructor(keys: ApiKeys, origins: OriginList, allowedHosts: readonly string[]) {
    this.#keys = new KeyRing(keys)
    this.#origins = origins
    this.#hosts = new Set(allowedHosts.map((host) => host.toLowerCase()))
  }

  /** @throws ModelyardError `unauthorized`, `forbidden` */
  check(request: IncomingMessage, scope: AccessScope): void {
    if (this.#keys.guards(scope)) {
      if (this.#keys.opens(request.headers, scope)) return
      throw new ModelyardError(
        'unauthorized',
        'The API key is missing or wrong; send it as "Authorization: Bearer KEY" or "x-api-key: KEY".',
      )
    }
    this.#checkHost(request)
    this.#checkOrigin(request)
  }

  /** A page that points its own name at this machine (DNS rebinding) still sends that name. */
  #checkHost(request: IncomingMessage): void {
    const { host } = request.headers
    if (host === undefined || host === this.#accepted) return
    const name = hostName(host)
    if (isLoopbackName(name) || isIP(name) !== 0 || this.#hosts.has(name)) {
      this.#accepted = host
      return
    }
    throw new ModelyardError(
      'forbidden',
      'This server has no API key and is not to be called under this host name; add it to the allowed hosts or set a key.',
    )
  }

  #checkOrigin(request: IncomingMessage): void {
    const { origin, host } = request.headers
    if (origin === undefined || HARMLESS.has(request.method) || this.#origins.allows(origin)) return
    if (host !== undefined && originHost(origin) === host.toLowerCase()) return
    throw new ModelyardError(
      'forbidden',
      'Pages of this origin may not use a server without an API key; add it to the allowed origins or set a key.',
    )
  }
}

/** The name without port and brackets, in lower case. */
function hostName(host: string): string {
  const lower = host.trim().toLowerCase()
  if (lower.startsWith('[')) return lower.slice(1, lower.indexOf(']'))
  const colon = lower.lastIndexOf(':')
  return (colon < 0 ? lower : lower.slice(0, colon)).replace(/\.$/, '')
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

function originHost(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase()
}
