/** Piece of a message. Data is never fetched by an engine: images arrive as bytes. */
export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'image'; mediaType: string; data: Uint8Array }
  | { type: 'audio'; format: string; data: Uint8Array }

/** A call of a tool by the model; `arguments` is the JSON text exactly as produced. */
export interface ToolCall {
  id: string
  name: string
  arguments: string
}

/** One turn of a conversation, dialect-free. `content` is a string when it holds nothing but text. */
export type Message =
  | { role: 'system'; content: string | ContentPart[] }
  | { role: 'user'; content: string | ContentPart[]; name?: string }
  | { role: 'assistant'; content: string | ContentPart[]; reasoning?: string; toolCalls?: ToolCall[] }
  | { role: 'tool'; content: string | ContentPart[]; toolCallId: string; name?: string }

/** A tool offered to the model; `parameters` is a JSON Schema. */
export interface Tool {
  name: string
  description?: string
  parameters: Record<string, unknown>
  strict?: boolean
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string }

/** The text of a content, its text parts joined as they stand. */
export function contentText(content: string | readonly ContentPart[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
