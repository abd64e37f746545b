export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const ODD: Json[] = [
  null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, '', 'x', '__proto__', '\uD83D', ' ', '0', 'data:,', 'https://x', 'auto', 'none',
  [], {}, [[]], [null], [{}], { type: 'text' }, { type: 'function' }, { toString: 'x' }, 'y'.repeat(600), [1, 'x', {}],
] // prettier-ignore

/** A generator of numbers from 0 to 1 that gives the same ones for a seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export function pick<Item>(items: readonly Item[], next: () => number): Item {
  return items[Math.floor(next() * items.length)] as Item
}

/** All places of a value: an object or list with one of its keys. */
function placesOf(value: Json, found: [Json[] | { [name: string]: Json }, string][] = []): typeof found {
  if (typeof value !== 'object' || value === null) return found
  for (const key of Object.keys(value)) {
    found.push([value, key])
    placesOf((value as { [name: string]: Json })[key] ?? null, found)
  }
  return found
}

function odd(next: () => number): Json {
  return structuredClone(pick(ODD, next))
}

/** A body with one to three things wrong, as it would come out of a parser. */
export function mutate(body: Json, next: () => number): Json {
  const copy = structuredClone(body)
  for (let count = 1 + Math.floor(next() * 3); count > 0; count--) {
    const [parent, key] = pick(placesOf(copy), next) ?? []
    if (parent === undefined || key === undefined) return copy
    change(parent as { [name: string]: Json }, key, next)
  }
  return JSON.parse(JSON.stringify(copy)) as Json
}

function change(holder: { [name: string]: Json }, key: string, next: () => number): void {
  const kind = next()
  if (kind < 0.2) delete holder[key]
  else if (kind < 0.3) holder[pick(['type', 'role', 'content', 'unheard_of', 'id'], next)] = odd(next)
  else if (kind < 0.4) holder[key] = [holder[key] ?? null, structuredClone(holder[key] ?? null)]
  else holder[key] = odd(next)
}
