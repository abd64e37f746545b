/** Fields of protobuf messages as bytes: just what ONNX files are made of. Large pieces stay views of the memory they are in. */
export type Pieces = Buffer[]

export function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  do {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    bytes.push(rest === 0n ? low : low | 0x80)
  } while (rest !== 0n)
  return Buffer.from(bytes)
}

export function sizeOf(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

export function integer(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)])
}

export function float(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return Buffer.concat([varint(field * 8 + 5), bytes])
}

/** A message, or bytes, with their length before them. */
export function nested(field: number, pieces: Pieces): Pieces {
  return [Buffer.concat([varint(field * 8 + 2), varint(sizeOf(pieces))]), ...pieces]
}

export function text(field: number, value: string): Buffer {
  return Buffer.concat(nested(field, [Buffer.from(value)]))
}
