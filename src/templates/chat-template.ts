import { ModelyardError } from '../base/errors.ts'
import type { Message, Tool } from '../tasks/message.ts'
import { AnswerParser } from './answer/answer-parser.ts'
import { reasoningFormatOf, type ReasoningFormat } from './answer/reasoning-format.ts'
import { CHATML, CHATML_STOPS } from './chatml.ts'
import { ControlTexts } from './control-texts.ts'
import { withoutDefaultSystem } from './default-system.ts'
import { CONTINUE_HERE, SYSTEM_PLACE } from './marks.ts'
import { holdsSystemTexts, systemArrangements } from './system-messages.ts'
import { plainMessages, templateMessage, templateTool, type PlainMessage } from './template-message.ts'
import { TemplateProgram } from './template-program.ts'
import { styleOf, type TemplateStyle } from './template-style.ts'
import { isMarkup } from './tool-calls/markup.ts'
import { withToolsTold } from './tool-calls/tools-told.ts'
import { toolUseOf, type ToolUse } from './tool-calls/tool-use.ts'
import { withToolHistory } from './tool-history.ts'
import { leastTokensPerTurn } from './turn-tokens.ts'

export interface ChatTemplateOptions {
  /** The model's Jinja template; absent = ChatML. */
  source?: string | undefined
  bosToken?: string | undefined
  eosToken?: string | undefined
  /** Texts that the tokenizer turns into control tokens. */
  controlTexts: Iterable<string>
  /** Those of them that end a turn. */
  endTexts?: Iterable<string>
  /** Texts that the tokenizer keeps whole without their being control tokens; among them are marks of calls and reasoning. */
  userDefinedTexts?: Iterable<string>
}

/** A conversation to be rendered. */
export interface Conversation {
  messages: readonly Message[]
  tools?: readonly Tool[]
  /** Used when no message is a system message; `""` suppresses the template's own text; absent = the template decides. */
  system?: string
  reasoning?: { enabled: boolean }
  /** Further variables for the template. */
  templateOptions?: Record<string, unknown>
}

/** What decides how an answer is read, beside the conversation. */
export interface AnswerReading {
  tools: readonly Tool[]
  parallel: boolean
}

/** A model's own chat template: conversations become the text that the model was trained on. Read once per model. */
export class ChatTemplate {
  /** How the model marks what it thinks; undefined = it does not. */
  readonly reasoning: ReasoningFormat | undefined
  /** How tools are told to the model, and how it calls them. */
  readonly toolUse: ToolUse
  readonly #program: TemplateProgram
  /** Of earlier answers only what is no text is cut: marks of calls and reasoning in them are the model's own. */
  readonly #answers: ControlTexts
  readonly #control: ControlTexts
  readonly #ends: ReadonlySet<string>
  readonly #options: ChatTemplateOptions
  readonly #style: TemplateStyle
  #switches: 'yes' | 'no' | undefined
  #leastPerTurn: number | undefined

  /** @throws ModelyardError `unsupported` when the template cannot be read */
  constructor(options: ChatTemplateOptions) {
    const source = options.source ?? CHATML
    this.#program = new TemplateProgram(source)
    this.#style = styleOf(this.#program)
    this.reasoning = reasoningFormatOf(source)
    this.toolUse = toolUseOf(this.#program, source, this.#style)
    const controlTexts = [...options.controlTexts]
    const marks = [...(options.userDefinedTexts ?? [])].filter((text) => isMarkup(text, source))
    this.#answers = new ControlTexts(controlTexts)
    this.#control = marks.length === 0 ? this.#answers : new ControlTexts([...controlTexts, ...marks])
    this.#ends = new Set(options.endTexts)
    this.#options = options
  }

  /** Texts that end an answer where the tokenizer has no token for it: only for models without a template. */
  get stops(): readonly string[] {
    if (this.#options.source !== undefined) return []
    return CHATML_STOPS.filter((text) => !this.#control.has(text))
  }

  /** Tokens that each further turn takes at the least, whatever it says: what cannot fit need not be rendered to be known. */
  get leastPerTurn(): number {
    this.#leastPerTurn ??= leastTokensPerTurn((messages) => this.render({ messages }).join(''), this.#control)
    return this.#leastPerTurn
  }

  /**
   * The prompt in pieces, each to be tokenised by itself with control tokens recognised; almost always one. A last assistant message
   * is left open, so that the model continues it.
   * @throws ModelyardError `invalid_request` with the template's words, `unsupported` for images and sound
   */
  render(conversation: Conversation): string[] {
    const messages = this.#messages(conversation)
    const variables = this.#variables(conversation, messages)
    const text = this.#renderArranged(messages, variables)
    const suppress = conversation.system === '' && !messages.some(({ role }) => role === 'system')
    const wanted = suppress ? this.#withoutDefault(text, messages, variables) : text
    const complete = cutOpen(wanted, endsOpen(messages))
    const isOff = conversation.reasoning?.enabled === false && !endsOpen(messages)
    return this.#control.pieces(isOff ? this.#withoutReasoning(complete) : complete)
  }

  /** Reads the answer to a prompt of `render`; undefined when all of it is text. `reading` absent = no tools were offered. */
  parser(pieces: readonly string[], reading: AnswerReading | undefined): AnswerParser | undefined {
    const { reasoning, toolUse } = this
    if (reading === undefined && reasoning === undefined) return undefined
    const end = pieces.slice(-2).join('').trimEnd()
    const { format } = toolUse
    const parser = new AnswerParser({
      ...(reading !== undefined && { calls: { format, ...reading } }),
      ...(reasoning !== undefined && { reasoning }),
      startsInReasoning: reasoning !== undefined && end.endsWith(reasoning.begin),
    })
    const open = reading === undefined ? undefined : format.begins.find((begin) => end.endsWith(begin))
    if (open !== undefined) parser.write(open)
    return parser
  }

  #messages({ messages, system, tools = [] }: Conversation): PlainMessage[] {
    const plain = plainMessages(messages, { answers: this.#answers, others: this.#control })
    const complete = withSystem(plain, system, this.#control)
    return this.#tellsTools(tools) ? withToolsTold(complete, tools, this.#control) : complete
  }

  #tellsTools(tools: readonly Tool[] = []): boolean {
    return tools.length > 0 && !this.toolUse.isTold
  }

  #variables(conversation: Conversation, messages: readonly PlainMessage[]): Record<string, unknown> {
    const { tools, reasoning, templateOptions } = conversation
    const options = this.#control.guardAll(templateOptions ?? {}) as Record<string, unknown>
    return {
      ...(reasoning !== undefined && { enable_thinking: reasoning.enabled, thinking: reasoning.enabled }),
      ...options,
      ...(this.#tellsTools(tools) && { tools_told: true }),
      tools:
        tools === undefined || tools.length === 0 || !this.toolUse.isTold
          ? null
          : tools.map((tool) => templateTool(tool, this.#control)),
      bos_token: this.#options.bosToken ?? '',
      eos_token: this.#options.eosToken ?? '',
      add_generation_prompt: !endsOpen(messages),
    }
  }

  /** The first way to put the system messages that the template takes and uses; else the first that it takes. */
  #renderArranged(messages: PlainMessage[], variables: Record<string, unknown>): string {
    let taken: string | undefined
    let refusal: unknown
    for (const arrangement of systemArrangements(messages)) {
      try {
        const text = this.#run(arrangement, variables)
        if (holdsSystemTexts(text, messages)) return text
        taken ??= text
      } catch (error) {
        refusal ??= error
      }
    }
    if (taken === undefined) throw refusal
    return taken
  }

  /** Where a template has no way to say it, the model's reasoning is closed before it begins. */
  #withoutReasoning(text: string): string {
    const { reasoning } = this
    if (reasoning === undefined || reasoning.anywhere === true) return text
    const { begin, end } = reasoning
    const tail = text.trimEnd()
    if (tail.endsWith(begin)) return `${tail}\n\n${end}\n\n`
    const isClosed = tail.endsWith(end)
    return isClosed || this.#canSwitch() ? text : `${text}${begin}\n\n${end}\n\n`
  }

  /** Whether the template has a variable for it. */
  #canSwitch(): boolean {
    this.#switches ??= [true, false]
      .map((enabled) => this.#trial(enabled))
      .every((text, _, all) => text === all[0])
      ? 'no'
      : 'yes'
    return this.#switches === 'yes'
  }

  #trial(enabled: boolean): string {
    const conversation: Conversation = { messages: [{ role: 'user', content: 'Hi' }], reasoning: { enabled } }
    const messages = this.#messages(conversation)
    return this.#renderArranged(messages, this.#variables(conversation, messages))
  }

  #withoutDefault(text: string, messages: PlainMessage[], variables: Record<string, unknown>): string {
    const markers = { ...this.#options, control: this.#control, ends: this.#ends }
    try {
      const marked = this.#run([{ role: 'system', content: SYSTEM_PLACE }, ...messages], variables)
      return withoutDefaultSystem(text, marked, markers)
    } catch {
      return text // It has no place for a system message, so it adds none.
    }
  }

  /** What is told in our words is told so from beginning to end. */
  #styleFor({ tools_told: told }: Record<string, unknown>): TemplateStyle {
    return told === true ? { ...this.#style, calls: 'none', results: false } : this.#style
  }

  #run(messages: readonly PlainMessage[], variables: Record<string, unknown>): string {
    const style = this.#styleFor(variables)
    const opened = endsOpen(messages) ? leaveOpen(messages) : messages
    const shown = withToolHistory(opened, style, this.#control, this.toolUse.format)
    const given = shown.map((message) => templateMessage(message, style, this.#control))
    return this.#program.run({ ...variables, tools: variables['tools'] ?? style.noTools, messages: given })
  }
}

function withSystem(
  messages: PlainMessage[],
  system: string | undefined,
  control: ControlTexts,
): PlainMessage[] {
  if (system === undefined || system === '' || messages.some(({ role }) => role === 'system')) return messages
  return [{ role: 'system', content: control.guard(system) }, ...messages]
}

/** Whether the last message is one to be continued (E4). */
function endsOpen(messages: readonly PlainMessage[]): boolean {
  const last = messages.at(-1)
  return last?.role === 'assistant' && last.toolCalls === undefined
}

function leaveOpen(messages: readonly PlainMessage[]): PlainMessage[] {
  return messages.map((message, index) =>
    index === messages.length - 1 ? { ...message, content: message.content + CONTINUE_HERE } : message,
  )
}

/** The text up to where the open message ends: what would close its turn is cut off. */
function cutOpen(text: string, open: boolean): string {
  if (!open) return text
  const end = text.lastIndexOf(CONTINUE_HERE)
  if (end >= 0) return text.slice(0, end)
  const message =
    "The model's chat template leaves out the last assistant message, so it cannot be continued."
  throw new ModelyardError('unsupported', message, { details: { param: 'messages' } })
}
