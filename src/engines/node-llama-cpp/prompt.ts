import { ModelyardError } from '../../base/errors.ts'
import type { ChatTask, OutputFormat } from '../../tasks/chat-task.ts'
import type { CompletionTask } from '../../tasks/completion-task.ts'
import { contentText } from '../../tasks/message.ts'
import type { AnswerParser } from '../../templates/answer/answer-parser.ts'
import type { ChatTemplate } from '../../templates/chat-template.ts'
import type { LoadPlan } from '../engine.ts'
import { forcedCallOf, type ForcedCall } from './forced-call.ts'
import type { Vocabulary } from './vocabulary.ts'

/** What the model reads before it writes. */
export interface Prompt {
  tokens: number[]
  /** Stop strings that the template needs beside the task's. */
  stops: readonly string[]
  /** Text that the answer begins with. */
  echo?: string
  /** Tells reasoning and calls from text; absent = all is text. */
  parser?: AnswerParser
  /** What the answer's grammar is of. */
  format?: OutputFormat
  /** What the answer has to begin with, reasoning aside; the grammar is of the rest. */
  prefix?: string
}

/** What prompts are made with; one for a loaded model. */
export interface PromptMaker {
  plan: LoadPlan
  vocabulary: Vocabulary
  template: ChatTemplate
}

/** @throws ModelyardError `invalid_request`, `unsupported` */
export function promptOf(task: ChatTask | CompletionTask, maker: PromptMaker): Prompt {
  return task.kind === 'chat' ? chatPrompt(task, maker) : completionPrompt(task, maker)
}

function chatPrompt(task: ChatTask, { plan, vocabulary, template }: PromptMaker): Prompt {
  const { messages, toolChoice, templateOptions } = task
  const tools = toolChoice === 'none' || task.tools?.length === 0 ? undefined : task.tools
  const reasoning = task.reasoning?.budget === 0 ? { enabled: false } : task.reasoning
  const { system } = plan.spec
  // Templates shorten what assistants said (their reasoning), never the others.
  const texts = messages.filter(({ role }) => role !== 'assistant').map(({ content }) => contentText(content))
  requireTextWithin(plan.contextSize, vocabulary, texts)
  const pieces = template.render({
    messages,
    ...(tools !== undefined && { tools }),
    ...(system !== undefined && { system }),
    ...(reasoning !== undefined && { reasoning }),
    ...(templateOptions !== undefined && { templateOptions }),
  })
  requireTextWithin(plan.contextSize, vocabulary, pieces)
  const forced = forcedCallOf(task, template.toolUse.format)
  const parallel = task.parallelToolCalls !== false && forced?.isSingle !== true
  const parser = template.parser(pieces, tools === undefined ? undefined : { tools, parallel })
  const tokens = vocabulary.tokenizePrompt(pieces)
  return { tokens, stops: template.stops, ...(parser !== undefined && { parser }), ...formOf(task, forced) }
}

/** A call that has to be written leaves no room for another form. */
function formOf({ format }: ChatTask, forced: ForcedCall | undefined): Pick<Prompt, 'format' | 'prefix'> {
  if (forced === undefined) return format === undefined ? {} : { format }
  return { format: { type: 'grammar', grammar: forced.grammar }, prefix: forced.prefix }
}

/**
 * A prompt that its sender rendered himself: control tokens in it are meant as such, as in every other server; only the texts around
 * a gap are nothing but text.
 */
function completionPrompt(task: CompletionTask, { plan, vocabulary }: PromptMaker): Prompt {
  const { prompt, suffix, echo = false } = task
  if (typeof prompt !== 'string') {
    vocabulary.requireTokens(prompt, 'prompt')
    if (suffix !== undefined) throw noSuffix()
    const text = Buffer.concat(prompt.map((token) => vocabulary.bytesOf(token))).toString('utf8')
    return finished([...prompt], vocabulary, echo ? text : undefined)
  }
  requireTextWithin(plan.contextSize, vocabulary, [prompt, suffix ?? ''])
  const tokens =
    suffix === undefined ? vocabulary.tokenizePrompt([prompt]) : vocabulary.infillPrompt(prompt, suffix)
  return finished(tokens, vocabulary, echo ? prompt : undefined)
}

function noSuffix(): ModelyardError {
  const message = 'A prompt of token ids cannot have a suffix; send both as text.'
  return new ModelyardError('invalid_request', message, { details: { param: 'suffix' } })
}

function finished(tokens: number[], vocabulary: Vocabulary, echo: string | undefined): Prompt {
  const begun = tokens.length > 0 ? tokens : vocabulary.emptyPrompt()
  if (begun.length === 0) {
    throw new ModelyardError(
      'invalid_request',
      'The prompt is empty and this model has no token to begin with.',
      {
        details: { param: 'prompt' },
      },
    )
  }
  return { tokens: begun, stops: [], ...(echo !== undefined && { echo }) }
}

/**
 * Tokenising blocks the worker, a second for each megabyte or so, and a worker that is silent for long is taken for dead: a text that cannot fit
 * however it is cut into tokens is refused before. @throws context_length_exceeded with both numbers
 */
export function requireTextWithin(
  contextSize: number,
  { longestToken }: Vocabulary,
  texts: readonly string[],
): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const least = Math.ceil(bytes / longestToken)
  if (least < contextSize) return
  const message =
    `The maximum context length is ${contextSize} tokens, prompt and answer together, but the prompt alone has at least ${least}; ` +
    'shorten it, or load the model with a larger context.'
  throw new ModelyardError('context_length_exceeded', message, {
    details: { promptTokens: least, contextSize },
  })
}

/** The prompt must leave room for one token (BR-07). @throws context_length_exceeded with both numbers */
export function requireRoom(promptTokens: number, contextSize: number): void {
  if (promptTokens < contextSize) return
  const message =
    `The maximum context length is ${contextSize} tokens, prompt and answer together, but the prompt alone has ${promptTokens}; ` +
    'shorten it, or load the model with a larger context.'
  throw new ModelyardError('context_length_exceeded', message, { details: { promptTokens, contextSize } })
}
