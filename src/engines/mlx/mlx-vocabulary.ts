import type { ServerConnection } from '../supervision/server-connection.ts'
import { requireTokenIds } from '../llama-cpp/require-token-ids.ts'
import type { WireImage } from './mlx-pictures.ts'

/** What the launcher tells of the tokenizer. */
export interface WireVocabulary {
  /** Id, text, and whether it ends a turn. */
  control: [id: number, text: string, ends: boolean][]
  userDefined: string[]
  size: number
  longestToken: number
  template: string | null
  begin: string | null
  end: string | null
  /** Of models that see. Null = nothing is known to stand for an image. */
  image?: WireImage | null
}

/** The tokens of a loaded model: which are no text is known here; the rest is asked of its worker. */
export class MlxVocabulary {
  readonly controlTexts: readonly string[]
  readonly endTexts: readonly string[]
  readonly userDefinedTexts: readonly string[]
  readonly size: number
  readonly longestToken: number
  /** Texts of tokens that are no text, by id. */
  readonly controlById: ReadonlyMap<number, string>
  /** Ids of tokens that end a turn. */
  readonly endIds: readonly number[]
  readonly #connection: ServerConnection

  constructor({ control, userDefined, size, longestToken }: WireVocabulary, connection: ServerConnection) {
    this.#connection = connection
    this.controlById = new Map(control.map(([id, text]) => [id, text]))
    this.controlTexts = control.map(([, text]) => text)
    const ends = control.filter(([, , isEnd]) => isEnd)
    this.endTexts = ends.map(([, text]) => text)
    this.endIds = ends.map(([id]) => id)
    this.userDefinedTexts = userDefined
    this.size = size
    this.longestToken = longestToken
  }

  /** Pieces, each by itself, with control tokens recognised. `begins`: with what the tokenizer puts before a text. */
  async tokensOf(pieces: readonly string[], begins: boolean, signal?: AbortSignal): Promise<number[]> {
    const { ids } = (await this.#connection.json('/tokenize', { pieces, begins }, signal)) as {
      ids: number[]
    }
    return ids
  }

  async textOf(ids: readonly number[], signal?: AbortSignal): Promise<string> {
    const { text } = (await this.#connection.json('/detokenize', { ids }, signal)) as { text: string }
    return text
  }

  /** @throws ModelyardError `invalid_request` for ids that are not in the vocabulary */
  requireTokens(ids: readonly number[], param: string): void {
    requireTokenIds(ids, this.size, param)
  }
}
