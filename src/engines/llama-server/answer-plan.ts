import type { ChatTask } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import type { ChatTemplate } from '../../templates/chat-template.ts'
import { AnswerReader } from '../llama-cpp/answer-reader.ts'
import { AnswerCheck } from './answer-check.ts'
import type { Prompt } from './prompt.ts'
import type { Vocabulary } from './vocabulary.ts'

/** What an answer has to say at its places, whatever the model would say. */
export interface AnswerPlan {
  reader: AnswerReader
  /** Absent = any text will do. */
  check?: AnswerCheck
  /** Comes first, when the model has to think. */
  reasoningBegin: string
  /** Comes when it has thought enough. */
  reasoningEnd: string
  /** Tokens that it may think. */
  reasoningBudget: number
  /** Comes before anything but reasoning. */
  prefix: string
  /** Control tokens that are marks of calls and reasoning: their text is part of the answer. */
  marks: string[]
  shows: (text: string) => boolean
}

/** @throws ModelyardError `invalid_request` for a form that cannot be held */
export function planAnswer(
  task: ChatTask | CompletionTask,
  { stops, parser, format, prefix = '' }: Prompt,
  { template, vocabulary }: { template: ChatTemplate; vocabulary: Vocabulary },
): AnswerPlan {
  const wanted = task.kind === 'chat' ? task.reasoning : undefined
  const { enabled, budget = Infinity } = wanted ?? {}
  const { begin = '', end = '' } = template.reasoning ?? {}
  // A grammar would keep a model from beginning to think.
  const begins = enabled === true && budget > 0 && format !== undefined && parser?.inReasoning === false
  const shows = (text: string): boolean => parser?.shows(text) === true
  return {
    reader: new AnswerReader({
      stops: [...task.stop, ...stops],
      ...(parser !== undefined && { parser }),
      hidesReasoning: enabled === false,
    }),
    ...(format !== undefined && { check: new AnswerCheck(format) }),
    reasoningBegin: begins ? begin : '',
    reasoningEnd: end === '' ? '' : `\n${end}\n\n`,
    reasoningBudget: budget,
    prefix,
    marks: parser === undefined ? [] : vocabulary.controlTexts.filter(shows),
    shows,
  }
}
