import { ModelyardError } from '../../base/errors.ts'
import type { RunInfo } from '../../runs/run.ts'
import type { Part, Result } from '../../tasks/part.ts'
import type { RunEncoder } from '../dialect.ts'
import { encodeError } from './encode-error.ts'
import { nanoseconds } from './lines.ts'

function vectorOf(vector: Float32Array | undefined, index: number): number[] {
  if (vector !== undefined) return Array.from(vector)
  throw new ModelyardError('engine_failed', `The engine gave no vector for input ${index}.`)
}

/** Answer of `/api/embed`: vectors in the order of the inputs, one for each (BR-34). */
export class EmbedAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  readonly #model: string
  readonly #vectors: (Float32Array | undefined)[]
  #cut: readonly number[] = []
  #numbers: Record<string, number> = {}

  constructor(model: string, count: number) {
    this.#model = model
    this.#vectors = Array.from({ length: count })
  }

  /** Indices of inputs that lost their end. */
  noteCut(cut: readonly number[]): void {
    this.#cut = cut
  }

  part(part: Part): string {
    if (part.type === 'vector') this.#vectors[part.index] = part.vector
    return ''
  }

  end({ usage, timings }: Result, _task: number, { queueMs, loadMs }: RunInfo): string {
    this.#numbers = {
      total_duration: nanoseconds(queueMs + loadMs + timings.prefill + timings.decode),
      load_duration: nanoseconds(loadMs),
      ...(usage.unknown !== true && { prompt_eval_count: usage.promptTokens }),
    }
    return ''
  }

  finish(): string {
    return JSON.stringify({
      model: this.#model,
      embeddings: this.#vectors.map(vectorOf),
      ...this.#numbers,
      ...(this.#cut.length === 0 ? {} : { truncated: this.#cut }),
    })
  }
}

/** Answer of the older `/api/embeddings`. */
export class EmbeddingAnswer implements RunEncoder {
  readonly streaming = false
  readonly contentType = 'application/json'
  readonly fail: RunEncoder['fail'] = encodeError
  #vector: Float32Array | undefined

  part(part: Part): string {
    if (part.type === 'vector') this.#vector = part.vector
    return ''
  }

  end(): string {
    return ''
  }

  finish(): string {
    return JSON.stringify({ embedding: vectorOf(this.#vector, 0) })
  }
}
