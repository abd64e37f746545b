/** A response that is kept, with what was said to get it. */
export interface StoredResponse {
  /** `resp_…` */
  id: string
  /** The response that it goes on from; null = a conversation begins. */
  previous: string | null
  model: string
  /** Milliseconds since 1970. */
  createdAt: number
  /** JSON: what this request added to the conversation. */
  items: string
  /** JSON: the answer as it was sent. */
  response: string
}

/** Responses that are kept for whoever knows their id. They hold users' text. */
export interface ResponseRecords {
  /** Undefined for one that is not there, or not any longer. */
  read(id: string): StoredResponse | undefined
  write(response: StoredResponse): void
  /** @returns whether it was there */
  remove(id: string): boolean
}
