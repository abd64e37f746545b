import type { GgufHeader } from './gguf-header.ts'
import { invalidFile } from './invalid-file.ts'

/** Typed access to the values of a header: a key of the wrong kind is as good as absent. `%` stands for the architecture. */
export class HeaderValues {
  readonly architecture: string
  readonly #header: GgufHeader

  constructor(header: GgufHeader) {
    this.#header = header
    const architecture = header.values.get('general.architecture')
    if (typeof architecture !== 'string' || architecture === '') {
      throw invalidFile(header.path, 'has no "general.architecture".')
    }
    this.architecture = architecture
  }

  text(key: string): string | undefined {
    const value = this.#get(key)
    return typeof value === 'string' ? value : undefined
  }

  flag(key: string): boolean | undefined {
    const value = this.#get(key)
    return typeof value === 'boolean' ? value : undefined
  }

  /** A whole number ≥ 0; of an array with one per layer the largest. */
  count(key: string): number | undefined {
    const value = this.#get(key)
    const numbers = Array.isArray(value) ? value : typeof value === 'number' ? [value] : []
    if (numbers.length === 0) return undefined
    // Reduced, not spread: an array may have thousands of entries.
    return numbers.reduce((most, number) => Math.max(most, this.#whole(key, number)), 0)
  }

  /** @throws model_file_invalid when it is absent, 0 or above `most` */
  required(key: string, most: number): number {
    const count = this.count(key)
    if (count === undefined) throw invalidFile(this.#header.path, `has no "${this.#name(key)}".`)
    if (count < 1 || count > most) {
      throw invalidFile(this.#header.path, `is corrupt: "${this.#name(key)}" is ${count}.`)
    }
    return count
  }

  /** One number for each of `layers`, from an array or from one number for all; undefined when absent. */
  perLayer(key: string, layers: number): number[] | undefined {
    const value = this.#get(key)
    if (typeof value === 'number') return Array.from({ length: layers }, () => this.#whole(key, value))
    if (!Array.isArray(value)) return undefined
    if (value.length < layers) {
      throw invalidFile(
        this.#header.path,
        `is corrupt: "${this.#name(key)}" has ${value.length} entries for ${layers} layers.`,
      )
    }
    return value.slice(0, layers).map((number) => this.#whole(key, number))
  }

  #whole(key: string, number: number): number {
    if (Number.isSafeInteger(number) && number >= 0) return number
    throw invalidFile(this.#header.path, `is corrupt: "${this.#name(key)}" is ${number}.`)
  }

  #get(key: string): unknown {
    return this.#header.values.get(this.#name(key))
  }

  #name(key: string): string {
    return key.replace('%', this.architecture)
  }
}
