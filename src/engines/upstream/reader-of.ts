import type { Task } from '../../tasks/task.ts'
import { TextReader, type AnswerReader, type IncomingAnswer } from './answer-reader.ts'
import { DocumentReader } from './document-reader.ts'
import { EitherReader } from './either-reader.ts'
import { pictureParts } from './picture-parts.ts'
import { rankedParts } from './ranked-parts.ts'
import { SoundReader } from './sound-reader.ts'
import { transcriptParts } from './transcript-parts.ts'
import { vectorParts } from './vector-parts.ts'
import { WholeReader } from './whole-reader.ts'

/** What is known of an answer before any of it is read. */
export interface AnswerTraits {
  contentType: string
  /** Text was asked for in one piece; some servers know streams alone. */
  isWhole: boolean
  /** The endpoint ranks with numbers of any size. */
  ranksRaw: boolean
}

/** Who takes in the answer to a task. */
export function readerOf(
  task: Task,
  incoming: IncomingAnswer,
  { contentType, isWhole, ranksRaw }: AnswerTraits,
): AnswerReader {
  const { model } = incoming
  if (task.kind === 'embedding') return new DocumentReader(incoming, vectorParts(model, task.inputs.length))
  if (task.kind === 'rerank') {
    const count = task.documents.length
    return new DocumentReader(incoming, rankedParts({ model, count, isRaw: ranksRaw }))
  }
  if (task.kind === 'transcription') return new DocumentReader(incoming, transcriptParts(model, task))
  if (task.kind === 'image') return new DocumentReader(incoming, pictureParts(model, task))
  if (task.kind === 'speech') return new SoundReader(incoming, task.format, contentType)
  if (!/\bjson\b/i.test(contentType)) return new TextReader(incoming)
  return isWhole ? new WholeReader(incoming) : new EitherReader(incoming)
}
