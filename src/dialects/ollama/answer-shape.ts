/** What a line says of the answer. */
export interface AnswerPiece {
  text: string
  thinking?: string
  /** JSON of the finished calls */
  toolCalls?: string
}

/** How a route writes a piece: fields of JSON, without braces. */
export type AnswerShape = (piece: AnswerPiece) => string

function thinkingJson({ thinking }: AnswerPiece): string {
  return thinking === undefined ? '' : `,"thinking":${JSON.stringify(thinking)}`
}

/** `/api/generate` */
export const generateShape: AnswerShape = (piece) =>
  `"response":${JSON.stringify(piece.text)}${thinkingJson(piece)}`

/** `/api/chat` */
export const chatShape: AnswerShape = (piece) => {
  const calls = piece.toolCalls === undefined ? '' : `,"tool_calls":[${piece.toolCalls}]`
  return `"message":{"role":"assistant","content":${JSON.stringify(piece.text)}${thinkingJson(piece)}${calls}}`
}

/** What an answer carries from its request. */
export interface AnswerEnvelope {
  /** The name the client asked for (BR-37). */
  model: string
  /** Milliseconds since 1970. */
  now: () => number
  shape: AnswerShape
  /** Further last fields, as JSON that begins with a comma; `text` is the whole answer. */
  ending?: (text: string) => string
}
