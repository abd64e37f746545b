import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { ApiKeys } from './server-options.ts'

/** What a route needs: nothing, an inference key or an admin key. */
export type AccessScope = 'open' | 'inference' | 'admin'

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Compares keys in constant time; either of the two header forms being right suffices (BR-43). */
export class KeyRing {
  readonly #inference: Buffer[]
  readonly #admin: Buffer[]

  constructor({ inference, admin }: ApiKeys) {
    const adminDigests = admin.map(digest)
    const inferenceDigests = inference.map(digest)
    this.#inference = inference.length === 0 ? [] : [...inferenceDigests, ...adminDigests]
    this.#admin = admin.length === 0 ? inferenceDigests : adminDigests
  }

  /** Whether routes of this scope need a key at all. */
  guards(scope: AccessScope): boolean {
    return scope !== 'open' && this.#keysOf(scope).length > 0
  }

  opens(headers: IncomingHttpHeaders, scope: AccessScope): boolean {
    const keys = this.#keysOf(scope)
    return offeredKeys(headers)
      .map(digest)
      .map((offered) => keys.map((key) => timingSafeEqual(key, offered)).includes(true))
      .includes(true)
  }

  #keysOf(scope: AccessScope): Buffer[] {
    return scope === 'admin' ? this.#admin : this.#inference
  }
}

function offeredKeys(headers: IncomingHttpHeaders): string[] {
  const bearer = /^\s*bearer\s+(.*?)\s*$/i.exec(headers.authorization ?? '')?.[1]
  const header = headers['x-api-key']
  return [bearer, typeof header === 'string' ? header.trim() : undefined].filter((key) => key !== undefined)
}
