import { ModelyardError } from '../base/errors.ts'
import type { Message, Tool } from '../tasks/message.ts'
import { CHATML, CHATML_STOPS } from './chatml.ts'
import { ControlTexts } from './control-texts.ts'
import { withoutDefaultSystem } from './default-system.ts'
import { CONTINUE_HERE, SYSTEM_PLACE } from './marks.ts'
import { holdsSystemTexts, systemArrangements } from './system-messages.ts'
import { plainMessages, templateMessage, templateTool, type PlainMessage } from './template-message.ts'
import { TemplateProgram } from './template-program.ts'
import { styleOf, type TemplateStyle } from './template-style.ts'
import { withToolHistory } from './tool-history.ts'

export interface ChatTemplateOptions {
  /** The model's Jinja template; absent = ChatML. */
  source?: string
  bosToken?: string
  eosToken?: string
  /** Texts that the tokenizer turns into control tokens. */
  controlTexts: Iterable<string>
  /** Those of them that end a turn. */
  endTexts?: Iterable<string>
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

/** A model's own chat template: conversations become the text that the model was trained on. Read once per model. */
export class ChatTemplate {
  readonly #program: TemplateProgram
  readonly #control: ControlTexts
  readonly #ends: ReadonlySet<string>
  readonly #options: ChatTemplateOptions
  readonly #style: TemplateStyle

  /** @throws ModelyardError `unsupported` when the template cannot be read */
  constructor(options: ChatTemplateOptions) {
    this.#program = new TemplateProgram(options.source ?? CHATML)
    this.#style = styleOf(this.#program)
    this.#control = new ControlTexts(options.controlTexts)
    this.#ends = new Set(options.endTexts)
    this.#options = options
  }

  /** Texts that end an answer where the tokenizer has no token for it: only for models without a template. */
  get stops(): readonly string[] {
    if (this.#options.source !== undefined) return []
    return CHATML_STOPS.filter((text) => !this.#control.has(text))
  }

  /**
   * The prompt in pieces, each to be tokenised by itself with control tokens recognised; almost always one. A last assistant message
   * is left open, so that the model continues it.
   * @throws ModelyardError `invalid_request` with the template's words, `unsupported` for images and sound
   */
  render(conversation: Conversation): string[] {
    const messages = withSystem(
      plainMessages(conversation.messages, this.#control),
      conversation.system,
      this.#control,
    )
    const variables = this.#variables(conversation, messages)
    const text = this.#renderArranged(messages, variables)
    const suppress = conversation.system === '' && !messages.some(({ role }) => role === 'system')
    const wanted = suppress ? this.#withoutDefault(text, messages, variables) : text
    return this.#control.pieces(cutOpen(wanted, endsOpen(messages)))
  }

  #variables(conversation: Conversation, messages: readonly PlainMessage[]): Record<string, unknown> {
    const { tools, reasoning, templateOptions } = conversation
    const options = this.#control.guardAll(templateOptions ?? {}) as Record<string, unknown>
    return {
      ...(reasoning !== undefined && { enable_thinking: reasoning.enabled }),
      ...options,
      tools:
        tools === undefined || tools.length === 0
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

  #withoutDefault(text: string, messages: PlainMessage[], variables: Record<string, unknown>): string {
    const markers = { ...this.#options, control: this.#control, ends: this.#ends }
    try {
      const marked = this.#run([{ role: 'system', content: SYSTEM_PLACE }, ...messages], variables)
      return withoutDefaultSystem(text, marked, markers)
    } catch {
      return text // It has no place for a system message, so it adds none.
    }
  }

  #run(messages: readonly PlainMessage[], variables: Record<string, unknown>): string {
    const style = this.#style
    const opened = endsOpen(messages) ? leaveOpen(messages) : messages
    const shown = withToolHistory(opened, style, this.#control)
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
