import type { Weights } from './ctranslate2-file.ts'
import { packMatrix, type Pace, type PackedMatrix } from './packed-matrix.ts'

/** Rows of a matrix of weights, for layers that hold several together. */
export interface Rows {
  from: number
  to: number
}

const EMBEDDINGS = 'decoder/embeddings/weight'
const MATRIX = /\/linear_\d+\/weight$/
/** Layers that hold queries, keys and values, or keys and values, together: each is multiplied by itself. */
const SEVERAL = /\/(self_attention\/linear_0|attention\/linear_1)\/weight$/

/** All weights of a Whisper, with those that are multiplied in eight bits already. */
export class WhisperWeights {
  readonly width: number
  readonly embeddings: PackedMatrix
  readonly #tensors: ReadonlyMap<string, Weights>
  readonly #matrices: ReadonlyMap<string, PackedMatrix>

  /** Packs them in pieces: it takes seconds of processor time. @throws the signal's reason */
  static async pack(tensors: ReadonlyMap<string, Weights>, pace: Pace): Promise<WhisperWeights> {
    const table = tensorOf(tensors, EMBEDDINGS)
    const width = table.axes[1] ?? 0
    const matrices = new Map<string, PackedMatrix>()
    for (const [name, { values, axes }] of tensors) {
      if (!MATRIX.test(name)) continue
      const [height = 0, depth = 0] = axes
      const step = SEVERAL.test(name) ? width : height
      for (let from = 0; from < height; from += step) {
        const rows = values.subarray(from * depth, (from + step) * depth)
        matrices.set(`${name} ${from}`, await packMatrix(rows, depth, true, pace))
      }
    }
    const embeddings = await packMatrix(table.values, width, false, pace)
    return new WhisperWeights(tensors, matrices, embeddings, width)
  }

  private constructor(
    tensors: ReadonlyMap<string, Weights>,
    matrices: ReadonlyMap<string, PackedMatrix>,
    embeddings: PackedMatrix,
    width: number,
  ) {
    this.#tensors = tensors
    this.#matrices = matrices
    this.embeddings = embeddings
    this.width = width
  }

  tensor(name: string): Weights {
    return tensorOf(this.#tensors, name)
  }

  has(name: string): boolean {
    return this.#tensors.has(name)
  }

  /** Turned: its rows, which begin with that one, are columns. */
  matrix(name: string, { from }: Rows): PackedMatrix {
    const found = this.#matrices.get(`${name} ${from}`)
    if (found === undefined) throw new Error(`the weights have no ${name} from row ${from}`)
    return found
  }
}

function tensorOf(tensors: ReadonlyMap<string, Weights>, name: string): Weights {
  const found = tensors.get(name)
  if (found === undefined) throw new Error(`the weights have no ${name}`)
  return found
}
