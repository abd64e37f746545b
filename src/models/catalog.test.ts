import { describe, expect, it } from 'vitest'
import { CATALOG, catalogEntry } from './catalog.ts'
import { parseSource } from './source.ts'

const places = Object.entries(CATALOG).flatMap(([name, { sources }]) =>
  sources.map((place): [string, (typeof sources)[number]] => [`${name}: ${place.source}`, place]),
)

describe('the catalog', () => {
  it.each(Object.keys(CATALOG))('%s is a name that a source can be', (name) => {
    expect(parseSource(name)).toEqual({ kind: 'catalog', name })
  })

  it.each(places)('%s can be read, and what no hub promises has a sum', (_, place) => {
    const { kind } = parseSource(place.source)
    expect(['hub', 'wheel', 'url']).toContain(kind)
    if (kind === 'hub') return
    expect(place.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(place.size).toBeGreaterThan(0)
  })

  it('suppresses the default system text of smollm2, with which it answers wrongly', () => {
    expect(CATALOG['smollm2']?.spec.system).toBe('')
  })

  it('names what is near to a mistyped name, and inherits none', () => {
    expect(() => catalogEntry(CATALOG, 'smolm2')).toThrow('Did you mean "smollm2"?')
    expect(() => catalogEntry(CATALOG, 'toString')).toThrow('"toString" is not in the catalog')
  })
})
