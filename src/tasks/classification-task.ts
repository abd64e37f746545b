/** Texts, or one picture each, to be told apart. */
export interface ClassificationTask {
  kind: 'classification'
  /** Texts that are not empty, or the bytes of whole image files. Never empty; order is kept. */
  inputs: (string | Uint8Array)[]
  /** Labels of the asker's own: the model judges how far a sentence with each of them follows from a text, or fits an image. Absent = those it was trained for. */
  labels?: string[]
  /** With `labels`: the sentence, with `{}` for the label. Absent = `This example is {}.`, for images `This is a photo of {}.` */
  hypothesis?: string
  /** With `labels`: each is judged alone, so that several can be right; otherwise their scores sum to 1. */
  multiple?: boolean
}
