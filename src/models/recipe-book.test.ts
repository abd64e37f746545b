import { describe, expect, it } from 'vitest'
import { RecipeBook, type RecipeMemory } from './recipe-book.ts'

function memory(): RecipeMemory {
  const values = new Map<string, string>()
  return {
    read: (key) => JSON.parse(values.get(key) ?? 'null') as unknown,
    write: (key, value) => values.set(key, JSON.stringify(value)),
  }
}

describe('RecipeBook', () => {
  it('finds a recipe with and without :latest, and after a restart', () => {
    const kept = memory()
    const recipe = { from: 'base', system: '', defaults: { temperature: 0 }, stop: ['x'] }
    new RecipeBook(kept).add('mario:latest', recipe)
    const book = new RecipeBook(kept)
    expect(['mario', 'mario:latest', 'mario:7b', 'Mario'].map((name) => book.find(name))).toEqual([
      recipe,
      recipe,
      undefined,
      undefined,
    ])
    expect(book.all()).toEqual([['mario', recipe]])
  })

  it('replaces and removes', () => {
    const kept = memory()
    const book = new RecipeBook(kept)
    book.add('a', { from: 'x', defaults: {} })
    book.add('a:latest', { from: 'y', defaults: {} })
    expect(book.all()).toEqual([['a', { from: 'y', defaults: {} }]])
    expect([book.remove('a:latest'), book.remove('a')]).toEqual([true, false])
    expect(new RecipeBook(kept).all()).toEqual([])
  })
})
