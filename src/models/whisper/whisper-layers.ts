import { FLOAT, OnnxGraph } from '../onnx/onnx-graph.ts'
import type { Weights } from './ctranslate2-file.ts'
import { ZERO, type PackedMatrix } from './packed-matrix.ts'
import type { Rows, WhisperWeights } from './whisper-weights.ts'

/** Width of one head in every Whisper model. */
export const HEAD = 64

/** The layers that Whisper is made of, put down in a graph with weights of eight bits. */
export class WhisperLayers {
  readonly graph: OnnxGraph
  readonly width: number
  readonly #weights: WhisperWeights
  /** Of inputs in eight bits, by their name: queries, keys and values share them. */
  readonly #quantised = new Map<string, string[]>()

  constructor(graph: OnnxGraph, weights: WhisperWeights) {
    this.graph = graph
    this.#weights = weights
    this.width = weights.width
  }

  /** The same in a graph inside an operator of this one. */
  inside(): WhisperLayers {
    return new WhisperLayers(new OnnxGraph(this.graph), this.#weights)
  }

  get embeddings(): PackedMatrix {
    return this.#weights.embeddings
  }

  tensor(name: string): Weights {
    return this.#weights.tensor(name)
  }

  has(name: string): boolean {
    return this.#weights.has(name)
  }

  floats(name: string): string {
    const { values, axes } = this.tensor(name)
    return this.graph.floats(values, axes)
  }

  norm(input: string, name: string, output?: string): string {
    const inputs = [input, this.floats(`${name}/gamma`), this.floats(`${name}/beta`)]
    return this.graph.operator('LayerNormalization', inputs, { axis: -1, epsilon: { float: 1e-5 } }, output)
  }

  /** `input × weightsᵀ + bias`, in eight bits: one scale for each column, one for the input. */
  linear(input: string, name: string, rows?: Rows): string {
    const [height = 0, depth = 0] = this.tensor(`${name}/weight`).axes
    const { from, to } = rows ?? { from: 0, to: height }
    const matrix = this.#weights.matrix(`${name}/weight`, { from, to })
    const packed = this.graph.constant('uint8', [depth, to - from], matrix.bytes)
    const product = this.product(input, packed, this.graph.floats(matrix.scales))
    if (!this.has(`${name}/bias`)) return product
    const bias = this.tensor(`${name}/bias`).values.subarray(from, to)
    return this.graph.operator('Add', [product, this.graph.floats(bias)])
  }

  product(input: string, matrix: string, scales: string, output?: string): string {
    const { graph } = this
    let parts = this.#quantised.get(input)
    if (parts === undefined) {
      parts = graph.operators('DynamicQuantizeLinear', [input], {}, 3)
      this.#quantised.set(input, parts)
    }
    const [bytes = '', scale = '', zero = ''] = parts
    const sums = graph.operator('MatMulInteger', [bytes, matrix, zero, this.zero()])
    const floats = graph.operator('Cast', [sums], { to: FLOAT })
    return graph.operator('Mul', [floats, graph.operator('Mul', [scales, scale])], {}, output)
  }

  zero(): string {
    return this.graph.constant('uint8', [], Uint8Array.of(ZERO))
  }

  /** `[batch, tokens, width]` → `[batch, heads, tokens, 64]` */
  heads(input: string): string {
    const shape = this.graph.integers([0, 0, this.width / HEAD, HEAD])
    const parted = this.graph.operator('Reshape', [input, shape])
    return this.graph.operator('Transpose', [parted], { perm: { ints: [0, 2, 1, 3] } })
  }

  attention(queries: string, keys: string, values: string, mask?: string): string {
    const { graph } = this
    const turned = graph.operator('Transpose', [keys], { perm: { ints: [0, 1, 3, 2] } })
    const products = graph.operator('MatMul', [queries, turned])
    const scaled = graph.operator('Mul', [products, graph.floats([HEAD ** -0.5], [])])
    const masked = mask === undefined ? scaled : graph.operator('Add', [scaled, mask])
    const shares = graph.operator('Softmax', [masked], { axis: -1 })
    const mixed = graph.operator('MatMul', [shares, values])
    const together = graph.operator('Transpose', [mixed], { perm: { ints: [0, 2, 1, 3] } })
    return graph.operator('Reshape', [together, graph.integers([0, 0, this.width])])
  }

  /** The two layers behind each attention, added to their input. */
  feedForward(input: string, name: string): string {
    const inner = this.linear(this.norm(input, `${name}/layer_norm`), `${name}/linear_0`)
    const outer = this.linear(this.graph.operator('Gelu', [inner]), `${name}/linear_1`)
    return this.graph.operator('Add', [input, outer])
  }

  /** Rows of queries, keys and values in their common matrix. */
  third(index: 0 | 1 | 2): Rows {
    return { from: index * this.width, to: (index + 1) * this.width }
  }

  /** How many layers there are below a name. */
  layers(side: 'encoder' | 'decoder'): number {
    let count = 0
    while (this.has(`${side}/layer_${count}/ffn/layer_norm/gamma`)) count++
    return count
  }
}
