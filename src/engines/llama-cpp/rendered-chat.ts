import type { ChatTask, OutputFormat } from '../../tasks/chat-task.ts'
import { contentText } from '../../tasks/message.ts'
import type { AnswerParser } from '../../templates/answer/answer-parser.ts'
import type { ChatTemplate } from '../../templates/chat-template.ts'
import type { LoadPlan } from '../engine.ts'
import { forcedCallOf, type ForcedCall } from './forced-call.ts'
import { requireTextWithin, requireTurnsWithin } from './require-text-within.ts'

/** What an answer must look like, beside what is read before it. */
export interface AnswerForm {
  /** Stop strings that the template needs beside the task's. */
  stops: readonly string[]
  /** Tells reasoning and calls from text; absent = all is text. */
  parser?: AnswerParser
  /** What the answer's grammar is of. */
  format?: OutputFormat
  /** What the answer has to begin with, reasoning aside; the grammar is of the rest. */
  prefix?: string
}

/** A conversation in the model's own words, each piece to be tokenised by itself with control tokens recognised; almost always one. */
export interface RenderedChat extends AnswerForm {
  pieces: string[]
}

export interface ChatRendering {
  plan: LoadPlan
  template: ChatTemplate
  /** Bytes of the longest token's text. */
  longestToken: number
}

/** @throws ModelyardError `invalid_request`, `unsupported`, `context_length_exceeded` for texts that cannot fit however they are tokenised */
export function renderChat(task: ChatTask, { plan, template, longestToken }: ChatRendering): RenderedChat {
  const { messages, toolChoice, templateOptions } = task
  const tools = toolChoice === 'none' || task.tools?.length === 0 ? undefined : task.tools
  const reasoning = task.reasoning?.budget === 0 ? { enabled: false } : task.reasoning
  const { system } = plan.spec
  // System messages may become one, and results part of another turn.
  const turns = messages.filter(({ role }) => role === 'user' || role === 'assistant').length
  requireTurnsWithin(plan.contextSize, turns, template.leastPerTurn)
  // Templates shorten what assistants said (their reasoning), never the others.
  const texts = messages.filter(({ role }) => role !== 'assistant').map(({ content }) => contentText(content))
  requireTextWithin(plan.contextSize, { longestToken }, texts)
  const pieces = template.render({
    messages,
    ...(tools !== undefined && { tools }),
    ...(system !== undefined && { system }),
    ...(reasoning !== undefined && { reasoning }),
    ...(templateOptions !== undefined && { templateOptions }),
  })
  requireTextWithin(plan.contextSize, { longestToken }, pieces)
  const forced = forcedCallOf(task, template.toolUse.format)
  const parallel = task.parallelToolCalls !== false && forced?.isSingle !== true
  const parser = template.parser(pieces, tools === undefined ? undefined : { tools, parallel })
  return { pieces, stops: template.stops, ...(parser !== undefined && { parser }), ...formOf(task, forced) }
}

/** A call that has to be written leaves no room for another form. */
function formOf({ format }: ChatTask, forced: ForcedCall | undefined): Pick<AnswerForm, 'format' | 'prefix'> {
  if (forced === undefined) return format === undefined ? {} : { format }
  return { format: { type: 'grammar', grammar: forced.grammar }, prefix: forced.prefix }
}
