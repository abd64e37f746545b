/** What is on a picture, or written on it, in words of a model that was trained for the one or the other. */
export interface CaptioningTask {
  kind: 'captioning'
  /** Bytes of a whole image file. */
  image: Uint8Array
  /** Most tokens to write. Absent = the model's default, then as many as it can hold. 0 writes nothing and ends with `length`. */
  maxTokens?: number
}
