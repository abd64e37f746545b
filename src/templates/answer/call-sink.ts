/** Where readers of calls put what they read. */
export interface CallSink {
  /** The name is known, and the id where the model gives one. @returns false when there is no such tool and so this is no call */
  begin(name: string, id?: string): boolean
  /** JSON text of the arguments, as it comes. */
  arguments(text: string): void
  end(): void
  /** No further call is wanted. */
  readonly isDone: boolean
  /** JSON Schema of one of the arguments, for formats that do not tell texts from numbers. */
  schemaOf(name: string, argument: string): unknown
  /** Markers that end the calls: what stands outside of a JSON text and is one of these ends it, whole or not. */
  readonly ends: readonly string[]
}

/** Most units of a call's beginning that are kept back until its name is known; longer ones are text. */
export const HEADER_LIMIT = 512
