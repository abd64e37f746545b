import type { ModelRecipe } from './model-recipe.ts'

/** Where recipes outlive the process. */
export interface RecipeMemory {
  read(key: string): unknown
  write(key: string, value: unknown): void
}

const KEY = 'recipes'

/** Names that clients made of other models. `name` and `name:latest` are one. */
export class RecipeBook {
  readonly #memory: RecipeMemory
  readonly #recipes: Map<string, ModelRecipe>

  constructor(memory: RecipeMemory) {
    this.#memory = memory
    this.#recipes = new Map(Object.entries((memory.read(KEY) ?? {}) as Record<string, ModelRecipe>))
  }

  find(name: string): ModelRecipe | undefined {
    return this.#recipes.size === 0 ? undefined : this.#recipes.get(plainName(name))
  }

  /** In the order in which they were made. */
  all(): [name: string, recipe: ModelRecipe][] {
    return [...this.#recipes]
  }

  /** Replaces one of the same name. */
  add(name: string, recipe: ModelRecipe): void {
    this.#recipes.set(plainName(name), recipe)
    this.#save()
  }

  /** @returns whether there was one */
  remove(name: string): boolean {
    const was = this.#recipes.delete(plainName(name))
    if (was) this.#save()
    return was
  }

  #save(): void {
    this.#memory.write(KEY, Object.fromEntries(this.#recipes))
  }
}

function plainName(name: string): string {
  return name.replace(/:latest$/, '')
}
