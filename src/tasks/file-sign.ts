/** The bytes that files of a kind begin with; `undefined` marks those that may be anything. */
export type FileSign = readonly (number | undefined)[]

export function letters(text: string): number[] {
  return Array.from(text, (letter) => letter.charCodeAt(0))
}

/** `count` bytes that may be anything. */
export function anything(count: number): undefined[] {
  return Array.from({ length: count }, () => undefined)
}

/** The first kind whose sign these bytes have. */
export function kindOf(
  bytes: Uint8Array,
  signs: readonly (readonly [kind: string, sign: FileSign])[],
): string | undefined {
  return signs.find(([, sign]) => sign.every((byte, at) => byte === undefined || bytes[at] === byte))?.[0]
}
