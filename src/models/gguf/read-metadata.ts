import type { GgufArray, GgufValue } from './gguf-header.ts'
import type { HeaderCursor, TextVisitor } from './header-cursor.ts'
import { invalidFile } from './invalid-file.ts'
import {
  MAX_KEPT_NUMBERS,
  MAX_KEY_BYTES,
  MAX_KEYS,
  MAX_LAYERS,
  MAX_TEXT_BYTES,
  MAX_VOCABULARY,
} from './limits.ts'
import { TextSet } from './text-set.ts'
import { ARRAY, scalarType, STRING } from './value-type.ts'

/** Texts that are of use; all others are stepped over. */
const KEPT_TEXTS = new Set([
  'general.architecture',
  'general.name',
  'general.type',
  'tokenizer.ggml.model',
  'tokenizer.ggml.pre',
  'tokenizer.chat_template',
])

/** Arrays with a number for each layer. */
const PER_LAYER = /\.(attention\.head_count|attention\.head_count_kv|feed_forward_length)$/

export interface Metadata {
  /** The value type of each key. */
  types: Map<string, number>
  values: Map<string, GgufValue>
  arrays: Map<string, GgufArray>
}

/** Reads `count` keys from where the cursor stands. @throws model_file_invalid */
export async function readMetadata(cursor: HeaderCursor, count: number): Promise<Metadata> {
  // A key is at least 8 bytes of length, 4 of type and 1 of value.
  cursor.expect(count * 13)
  if (count > MAX_KEYS)
    throw invalidFile(cursor.path, `declares ${count} keys; at most ${MAX_KEYS} are read.`)
  const reader = new MetadataReader(cursor)
  for (let index = 0; index < count; index++) await reader.readPair()
  return reader
}

class MetadataReader implements Metadata {
  readonly types = new Map<string, number>()
  readonly values = new Map<string, GgufValue>()
  readonly arrays = new Map<string, GgufArray>()
  readonly #cursor: HeaderCursor
  #keptNumbers = 0

  constructor(cursor: HeaderCursor) {
    this.#cursor = cursor
  }

  async readPair(): Promise<void> {
    const key = await this.#readKey()
    await this.#cursor.ensure(4)
    const type = this.#cursor.uint32()
    this.types.set(key, type)
    if (type === STRING) await this.#readText(key)
    else if (type === ARRAY) await this.#readArray(key)
    else await this.#readScalar(key, type)
  }

  async #readKey(): Promise<string> {
    await this.#cursor.ensure(8)
    const length = this.#cursor.uint64()
    this.#cursor.expect(length)
    if (length > MAX_KEY_BYTES) throw this.#invalid(`is corrupt: a key has ${length} bytes.`)
    await this.#cursor.ensure(length)
    const key = this.#cursor.text(length)
    if (this.types.has(key)) throw this.#invalid(`has the key "${key}" twice.`)
    return key
  }

  async #readScalar(key: string, type: number): Promise<void> {
    const scalar = scalarType(type)
    if (scalar === undefined) throw this.#invalid(`is corrupt: "${key}" has the unknown value type ${type}.`)
    await this.#cursor.ensure(scalar.bytes)
    this.values.set(key, scalar.take(this.#cursor))
  }

  async #readText(key: string): Promise<void> {
    await this.#cursor.ensure(8)
    const length = this.#cursor.uint64()
    this.#cursor.expect(length)
    if (!KEPT_TEXTS.has(key)) {
      this.#cursor.skip(length)
      return
    }
    if (length > MAX_TEXT_BYTES) throw this.#invalid(`is corrupt: "${key}" has ${length} bytes.`)
    this.values.set(key, await this.#cursor.longText(length))
  }

  async #readArray(key: string): Promise<void> {
    await this.#cursor.ensure(12)
    const elementType = this.#cursor.uint32()
    const length = this.#cursor.uint64()
    this.arrays.set(key, { elementType, length, offset: this.#cursor.position })
    if (elementType === STRING) await this.#walkTexts(key, length)
    else await this.#readNumbers(key, elementType, length)
  }

  async #readNumbers(key: string, elementType: number, length: number): Promise<void> {
    const scalar = scalarType(elementType)
    // Arrays in arrays exist in the format's description only; engines refuse them.
    if (scalar === undefined) {
      throw this.#invalid(`is corrupt: "${key}" is an array of the unknown type ${elementType}.`)
    }
    this.#cursor.expect(length * scalar.bytes)
    if (!PER_LAYER.test(key) || length > MAX_LAYERS || this.#keptNumbers + length > MAX_KEPT_NUMBERS) {
      this.#cursor.skip(length * scalar.bytes)
      return
    }
    await this.#cursor.ensure(length * scalar.bytes)
    this.#keptNumbers += length
    this.values.set(
      key,
      Array.from({ length }, () => Number(scalar.take(this.#cursor))),
    )
  }

  async #walkTexts(key: string, length: number): Promise<void> {
    this.#cursor.expect(length * 8)
    if (key !== 'tokenizer.ggml.tokens') {
      await this.#cursor.walkTexts(length)
      return
    }
    if (length > MAX_VOCABULARY) throw this.#invalid(`declares ${length} tokens; at most ${MAX_VOCABULARY}.`)
    await this.#cursor.walkTexts(length, this.#refuseDuplicates())
  }

  /** Two equal tokens make llama.cpp abort its whole process. Empty ones are renamed by it and may repeat. */
  #refuseDuplicates(): TextVisitor {
    const seen = new TextSet()
    return (bytes, start, end, index) => {
      if (end === start || seen.add(bytes, start, end)) return
      throw this.#invalid(`has duplicate tokens: number ${index} of "tokenizer.ggml.tokens" is there twice.`)
    }
  }

  #invalid(problem: string): Error {
    return invalidFile(this.#cursor.path, problem)
  }
}
