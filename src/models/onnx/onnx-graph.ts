import { float, integer, nested, text, type Pieces } from './protobuf.ts'

/** Element types by ONNX's numbers. */
const ELEMENTS = { float: 1, uint8: 2, int64: 7, bool: 9, float16: 10 } as const

export type Element = keyof typeof ELEMENTS

export const FLOAT: number = ELEMENTS.float

/** A name of an axis whose length is not fixed, or its length. */
export type Axis = string | number

export type Attribute = number | { float: number } | { ints: readonly number[] } | { graph: OnnxGraph }

/** A graph of operators, written down as an ONNX file. Inputs, outputs and results are named; names of our own are numbered. */
export class OnnxGraph {
  readonly #nodes: Pieces = []
  readonly #constants: Pieces
  readonly #inputs: Pieces = []
  readonly #outputs: Pieces = []
  readonly #count: { value: number }

  /** `outer`: a graph inside another's operator sees all that the outer one has; its constants lie there. */
  constructor(outer?: OnnxGraph) {
    this.#constants = outer === undefined ? [] : outer.#constants
    this.#count = outer === undefined ? { value: 0 } : outer.#count
  }

  input(name: string, element: Element, axes: readonly Axis[]): string {
    this.#inputs.push(...nested(11, valueInfo(name, element, axes)))
    return name
  }

  output(name: string, element: Element, axes: readonly Axis[]): void {
    this.#outputs.push(...nested(12, valueInfo(name, element, axes)))
  }

  /** A tensor with these bytes, little-endian. */
  constant(element: Element, axes: readonly number[], data: ArrayBufferView): string {
    const name = this.#name()
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    const shape = axes.map((axis) => integer(1, axis))
    const tensor = [...shape, integer(2, ELEMENTS[element]), text(8, name), ...nested(9, [bytes])]
    this.#constants.push(...nested(5, tensor))
    return name
  }

  floats(values: Float32Array | readonly number[], axes: readonly number[] = [values.length]): string {
    return this.constant('float', axes, Float32Array.from(values))
  }

  integers(values: readonly number[]): string {
    return this.constant('int64', [values.length], BigInt64Array.from(values, BigInt))
  }

  /** An operator with one result. @returns the result's name */
  operator(
    type: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
    output: string = this.#name(),
  ): string {
    this.operators(type, inputs, attributes, [output])
    return output
  }

  /** An operator with several results, as many as there are names (or `count` numbered ones). */
  operators(
    type: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>>,
    outputs: readonly string[] | number,
  ): string[] {
    const names =
      typeof outputs === 'number' ? Array.from({ length: outputs }, () => this.#name()) : [...outputs]
    const fields = [
      ...inputs.map((name) => text(1, name)),
      ...names.map((name) => text(2, name)),
      text(4, type),
      ...Object.entries(attributes).flatMap(([name, value]) => nested(5, attribute(name, value))),
    ]
    this.#nodes.push(...nested(1, fields))
    return names
  }

  /** The whole file, as pieces that are written one after the other. */
  toModel(metadata: Readonly<Record<string, string>> = {}): Pieces {
    const opset = [text(1, ''), integer(2, 20)]
    return [
      integer(1, 9),
      text(2, 'modelyard'),
      ...nested(8, opset),
      ...nested(7, this.#fields(true)),
      ...metadataFields(metadata),
    ]
  }

  /** As part of another graph's operator. */
  toFields(): Pieces {
    return this.#fields(false)
  }

  #fields(withConstants: boolean): Pieces {
    const constants = withConstants ? this.#constants : []
    return [...this.#nodes, text(2, 'graph'), ...constants, ...this.#inputs, ...this.#outputs]
  }

  #name(): string {
    return `n${this.#count.value++}`
  }
}

/** Properties that a file carries; appended to a file, they belong to it. */
export function metadataFields(metadata: Readonly<Record<string, string>>): Pieces {
  return Object.entries(metadata).flatMap(([key, value]) => nested(14, [text(1, key), text(2, value)]))
}

function valueInfo(name: string, element: Element, axes: readonly Axis[]): Pieces {
  const shape = axes.flatMap((axis) =>
    nested(1, [typeof axis === 'number' ? integer(1, axis) : text(2, axis)]),
  )
  const tensor = [integer(1, ELEMENTS[element]), ...nested(2, shape)]
  return [text(1, name), ...nested(2, nested(1, tensor))]
}

function attribute(name: string, value: Attribute): Pieces {
  if (typeof value === 'number') return [text(1, name), integer(3, value), integer(20, 2)]
  if ('float' in value) return [text(1, name), float(2, value.float), integer(20, 1)]
  if ('ints' in value) return [text(1, name), ...value.ints.map((int) => integer(8, int)), integer(20, 7)]
  return [text(1, name), ...nested(6, value.graph.toFields()), integer(20, 5)]
}
