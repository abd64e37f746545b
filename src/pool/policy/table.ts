/**
 * Values by name, never changed in place. One with another value shares the names with the one before and copies a list; a `Map` would be filled
 * anew, entry by entry, which takes ten times as long.
 */
export class Table<Value> {
  /** Where each name's value is. */
  readonly places: ReadonlyMap<string, number>
  readonly all: readonly Value[]

  constructor(places: ReadonlyMap<string, number> = new Map(), all: readonly Value[] = []) {
    this.places = places
    this.all = all
  }

  get(name: string): Value | undefined {
    const place = this.places.get(name)
    return place === undefined ? undefined : this.all[place]
  }

  has(name: string): boolean {
    return this.places.has(name)
  }

  keys(): IterableIterator<string> {
    return this.places.keys()
  }

  values(): IterableIterator<Value> {
    return this.all.values()
  }

  /** In the order in which the names were first put in. */
  *[Symbol.iterator](): Generator<[name: string, value: Value], undefined> {
    for (const [name, place] of this.places) yield [name, this.all[place] as Value]
    return undefined
  }

  /** With this value under this name, new or instead of another. */
  with(name: string, value: Value): Table<Value> {
    const place = this.places.get(name)
    if (place !== undefined) return new Table(this.places, this.all.with(place, value))
    return new Table(new Map(this.places).set(name, this.all.length), [...this.all, value])
  }

  without(name: string): Table<Value> {
    let left = new Table<Value>()
    for (const [other, value] of this) if (other !== name) left = left.with(other, value)
    return left
  }
}
