import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelFacts, ModelPurpose } from './model-facts.ts'

/** What a model's files say of it in brief. */
export interface ModelKind {
  format: ModelFacts['format']
  purpose: ModelPurpose
  /** How its weights are stored: `Q4_K_M`, `4 bits in groups of 64`, `bfloat16`. Absent where they do not say. */
  quantization?: string
}

/** Where kinds outlive the process: a list of models reads no file twice. */
export interface KindMemory {
  read(key: string): unknown
  write(key: string, value: unknown): void
}

interface Kept {
  /** What `stat` said of the file, or the folder and its configuration. */
  seen: string
  kind: ModelKind
}

/** A model whose files are here. */
export interface PlacedModel {
  path: string
  inspect: () => Promise<ModelFacts>
}

const KEY = 'model-kinds'

/** What the files of models say, read once and kept as long as they do not change. Files that cannot be read say nothing. */
export class KnownKinds {
  readonly #memory: KindMemory
  #kept: ReadonlyMap<string, Kept>

  constructor(memory: KindMemory) {
    this.#memory = memory
    this.#kept = new Map(Object.entries((memory.read(KEY) ?? {}) as Record<string, Kept>))
  }

  /** What was read of the files at this path, without looking whether they are still the same. */
  peek(path: string): ModelKind | undefined {
    return this.#kept.get(path)?.kind
  }

  /** Looks at the files of all models that there are; those of others are forgotten. One after the other: lists are no reason to load a disk. */
  async look(models: readonly PlacedModel[]): Promise<void> {
    const before = this.#kept
    const now = new Map<string, Kept>()
    for (const model of models) {
      const kept = await this.#lookAt(model, before.get(model.path))
      if (kept !== undefined) now.set(model.path, kept)
    }
    this.#kept = now
    const isSame = now.size === before.size && [...now].every(([path, kept]) => before.get(path) === kept)
    if (!isSame) this.#memory.write(KEY, Object.fromEntries(now))
  }

  /** The same for one of them. */
  async lookAtOne(model: PlacedModel): Promise<void> {
    const before = this.#kept.get(model.path)
    const kept = await this.#lookAt(model, before)
    if (kept === undefined || kept === before) return
    this.#kept = new Map([...this.#kept, [model.path, kept]])
    this.#memory.write(KEY, Object.fromEntries(this.#kept))
  }

  async #lookAt({ path, inspect }: PlacedModel, before: Kept | undefined): Promise<Kept | undefined> {
    const seen = await lookOf(path)
    if (seen === undefined || before?.seen === seen) return before
    const facts = await inspect().catch(() => undefined)
    return facts === undefined ? undefined : { seen, kind: kindOf(facts) }
  }
}

function kindOf({ format, purpose, gguf, safetensors }: ModelFacts): ModelKind {
  const quantization = gguf?.fileType ?? safetensors?.quantization
  return { format, purpose, ...(quantization !== undefined && { quantization }) }
}

/** A folder changes when files come and go; what its model is stands in its configuration. */
async function lookOf(path: string): Promise<string | undefined> {
  const looks = await Promise.all([path, join(path, 'config.json')].map(lookOfFile))
  return looks[0] === '' ? undefined : looks.join(' ')
}

async function lookOfFile(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? '' : `${found.dev}:${found.ino}:${found.size}:${found.mtimeMs}`
}
