import { onAbort } from '../../base/abort.ts'
import { toModelyardError } from '../../base/errors.ts'
import type { Sampling } from '../../tasks/sampling.ts'
import { listenTo, UnfinishedAnswer, type ReadAnswer } from '../answer-text.ts'
import type { CommandContext } from '../command-context.ts'
import { safeText } from '../render/safe-text.ts'
import { cutNote, renderStatistics } from '../render/statistics.ts'
import { noteWaiting, type WaitingNote } from '../render/waiting.ts'
import type { Question, YardClient } from '../yard-client.ts'
import { chatHelp, findChatCommand, unknownChatCommand, type ChatCommandName } from './chat-commands.ts'
import type { Conversation } from './conversation.ts'

export interface ChatSettings {
  sampling: Sampling
  maxTokens?: number
  verbose: boolean
}

/** One chat: asks, shows the answers, obeys the commands. Reading the keyboard is somebody else's work. */
export class ChatSession {
  readonly #context: CommandContext
  readonly #yard: YardClient
  readonly #conversation: Conversation
  readonly #settings: ChatSettings
  #answering: AbortController | undefined

  constructor(context: CommandContext, yard: YardClient, conversation: Conversation, settings: ChatSettings) {
    this.#context = context
    this.#yard = yard
    this.#conversation = conversation
    this.#settings = settings
  }

  /** Ends the answer that is being written; what came of it stays. */
  stopAnswer(): void {
    this.#answering?.abort()
  }

  /** Asks and shows the answer. Failures are told in words: the chat goes on. */
  async ask(text: string): Promise<void> {
    const controller = new AbortController()
    const forget = onAbort(this.#context.signal, () => controller.abort())
    this.#answering = controller
    try {
      this.#conversation.add(text, await this.#answer(text, controller.signal))
    } finally {
      this.#answering = undefined
      forget()
    }
  }

  /** @returns false when the chat is to end */
  async obey(name: string, argument: string): Promise<boolean> {
    const command = findChatCommand(name)
    if (command === undefined) await this.#note(unknownChatCommand(name))
    else if (command !== 'exit') await this.#obey(command, argument)
    return command !== 'exit'
  }

  async #obey(command: Exclude<ChatCommandName, 'exit'>, argument: string): Promise<void> {
    if (command === 'help') await this.#note(chatHelp())
    else if (command === 'model') await this.#changeModel(argument)
    else if (command === 'system') await this.#changeSystem(argument)
    else {
      this.#conversation.clear()
      await this.#note('The conversation is forgotten.')
    }
  }

  async #changeModel(name: string): Promise<void> {
    if (name === '') return await this.#note(`${this.#conversation.model} answers.`)
    try {
      await this.#yard.show(name)
      this.#conversation.model = name
      await this.#note(`${name} answers from here on.`)
    } catch (error) {
      await this.#fail(error)
    }
  }

  async #changeSystem(text: string): Promise<void> {
    const conversation = this.#conversation
    if (text === '') return await this.#note(conversation.system ?? 'There is no system text.')
    conversation.system = text === 'none' ? undefined : text
    await this.#note(text === 'none' ? 'The system text is gone.' : 'The system text is set.')
  }

  /** @returns what came of the answer, to its end or to its stop */
  async #answer(text: string, signal: AbortSignal): Promise<string> {
    const question: Question = {
      model: this.#conversation.model,
      messages: this.#conversation.messagesFor(text),
      sampling: this.#settings.sampling,
      ...(this.#settings.maxTokens !== undefined && { maxTokens: this.#settings.maxTokens }),
      signal,
    }
    const { out, err } = this.#context
    const writer = new AnswerWriter(this.#context, this.#yard, question.model)
    try {
      const answer = await listenTo(this.#yard.ask(question), writer)
      await writer.finish(answer)
      const cut = cutNote(answer.summary, question.maxTokens)
      if (cut !== undefined) await err.line(err.colors.dim(cut))
      if (this.#settings.verbose) await this.#note(writer.statistics(answer))
      return answer.text
    } catch (error) {
      await writer.finish()
      const cause: unknown = error instanceof UnfinishedAnswer ? error.cause : error
      if (signal.aborted) await out.line(out.colors.dim('(stopped)'))
      else await this.#fail(cause)
      return signal.aborted && error instanceof UnfinishedAnswer ? error.text : ''
    }
  }

  async #note(text: string): Promise<void> {
    const { out } = this.#context
    await out.line(out.colors.dim(safeText(text)))
  }

  async #fail(error: unknown): Promise<void> {
    const { err } = this.#context
    await err.line(`${err.colors.red('error:')} ${toModelyardError(error).message}`)
  }
}

/** Puts an answer on the screen as it comes. */
class AnswerWriter {
  readonly #context: CommandContext
  readonly #note: WaitingNote
  readonly #asked: number
  #firstText: number | undefined
  #midLine = false
  #inReasoning = false

  constructor(context: CommandContext, yard: YardClient, model: string) {
    this.#context = context
    this.#asked = context.clock.now()
    this.#note = noteWaiting(context, yard, model)
  }

  async started(): Promise<void> {
    await this.#note.stop()
  }

  async text(text: string): Promise<void> {
    this.#firstText ??= this.#context.clock.now() - this.#asked
    if (this.#inReasoning) await this.#write('\n\n')
    this.#inReasoning = false
    await this.#write(this.#shown(text))
  }

  async reasoning(text: string): Promise<void> {
    this.#inReasoning = true
    await this.#write(this.#context.out.colors.dim(this.#shown(text)))
  }

  async finish(answer?: ReadAnswer): Promise<void> {
    await this.#note.stop()
    const { out } = this.#context
    if (this.#midLine) await out.line()
    for (const call of answer?.toolCalls ?? []) {
      await out.line(out.colors.dim(safeText(`[calls ${call.name}(${call.arguments})]`)))
    }
  }

  statistics({ summary }: ReadAnswer): string {
    return renderStatistics(summary, this.#firstText, this.#context.clock.now() - this.#asked)
  }

  #shown(text: string): string {
    return this.#context.out.isTerminal ? safeText(text) : text
  }

  async #write(text: string): Promise<void> {
    await this.#note.stop()
    this.#midLine = !text.endsWith('\n')
    await this.#context.out.write(text)
  }
}
