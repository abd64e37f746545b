import type { ImageBox } from '../tasks/detection-task.ts'
import type { Part } from '../tasks/part.ts'
import type { Usage } from '../tasks/usage.ts'
import type { Run, RunInfo } from './run.ts'

interface Collected {
  usage: Usage
  info: RunInfo
}

/** Vectors in the order of the inputs. */
export interface Embeddings extends Collected {
  vectors: Float32Array[]
}

/** Scores from 0 to 1 in the order of the documents. */
export interface Scores extends Collected {
  scores: number[]
}

/** What an input is, 0…1. */
export interface Label {
  label: string
  score: number
}

/** Labels of each input, the likeliest first, in the order of the inputs. */
export interface Classification extends Collected {
  results: Label[][]
}

/** A thing on a picture, how likely it is (0…1), and where. */
export interface DetectedObject extends Label {
  box: ImageBox
}

/** All that is on a picture, the likeliest first. */
export interface Detection extends Collected {
  objects: DetectedObject[]
}

/** A picture as a whole file. */
export interface GeneratedImage {
  data: Uint8Array
  /** `image/png` */
  mediaType: string
  width: number
  height: number
  /** Makes the same one again, with all else the same. */
  seed?: number
}

export interface GeneratedImages extends Collected {
  images: GeneratedImage[]
}

/** Runs a task to its end. @throws ModelyardError as the run does; a call that was aborted or timed out rejects (P13) */
async function collect(run: Run, take: (part: Part) => void): Promise<Collected> {
  for (;;) {
    const next = await run.parts.next()
    if (next.done === true) return { usage: next.value.usage, info: run.info }
    take(next.value)
  }
}

/** Runs an embedding to its end. @throws ModelyardError as {@link collect} */
export async function collectVectors(run: Run): Promise<Embeddings> {
  const vectors: Float32Array[] = []
  const collected = await collect(run, (part) => {
    if (part.type === 'vector') vectors[part.index] = part.vector
  })
  return { vectors, ...collected }
}

/** Runs a ranking to its end. @throws ModelyardError as {@link collect} */
export async function collectScores(run: Run): Promise<Scores> {
  const scores: number[] = []
  const collected = await collect(run, (part) => {
    if (part.type === 'score') scores[part.index] = part.score
  })
  return { scores, ...collected }
}

/** Runs a classification to its end. @throws ModelyardError as {@link collect} */
export async function collectLabels(run: Run): Promise<Classification> {
  const results: Label[][] = []
  const collected = await collect(run, (part) => {
    if (part.type === 'label') (results[part.index] ??= []).push({ label: part.label, score: part.score })
  })
  return { results, ...collected }
}

/** Runs a detection to its end. @throws ModelyardError as {@link collect} */
export async function collectObjects(run: Run): Promise<Detection> {
  const objects: DetectedObject[] = []
  const collected = await collect(run, (part) => {
    if (part.type === 'object') objects.push({ label: part.label, score: part.score, box: part.box })
  })
  return { objects, ...collected }
}

/** Runs a generation of images to its end. @throws ModelyardError as {@link collect} */
export async function collectImages(run: Run): Promise<GeneratedImages> {
  const images: GeneratedImage[] = []
  const collected = await collect(run, (part) => {
    if (part.type !== 'image') return
    const { type: _, index, ...image } = part
    images[index] = image
  })
  return { images, ...collected }
}
