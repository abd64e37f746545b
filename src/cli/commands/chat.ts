import { join } from 'node:path'
import { ChatSession } from '../chat/chat-session.ts'
import { completeChatLine } from '../chat/chat-commands.ts'
import { Conversation } from '../chat/conversation.ts'
import { HistoryFile } from '../chat/history-file.ts'
import { LineEditor, type Typed } from '../chat/line-editor.ts'
import { MessageLines } from '../chat/message-lines.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import type { YardClient } from '../yard-client.ts'
import { samplingOf, type RunOptions } from './run.ts'

export interface ChatOptions extends YardOptionsOfCommand, Omit<RunOptions, 'json'> {
  /** False with `--no-history`. */
  history?: boolean
}

/** `modelyard chat MODEL`: a conversation on a terminal; lines from a pipe are messages too. */
export async function chat(context: CommandContext, model: string, options: ChatOptions): CommandResult {
  await using yard = await context.openYard(options, { models: [model], toRun: true })
  await yard.show(model)
  const conversation = new Conversation(model, options.system)
  const session = new ChatSession(context, yard, conversation, {
    sampling: samplingOf(options),
    verbose: options.verbose ?? false,
    ...(options.maxTokens !== undefined && { maxTokens: options.maxTokens }),
  })
  const history =
    options.history === false ? undefined : new HistoryFile(join(context.directories.home, 'chat-history'))
  const interactive = context.stdin.isTTY === true
  if (interactive) await greet(context, yard, model)
  const editor = new LineEditor({
    input: context.stdin,
    output: context.out.stream,
    history: interactive ? ((await history?.read()) ?? []) : [],
    complete: await completer(yard),
    onInterrupt: () => session.stopAnswer(),
    signal: context.signal,
  })
  try {
    await new ChatLoop(context, editor, session, conversation, interactive ? history : undefined).run()
  } finally {
    editor.close()
  }
}

async function greet({ out }: CommandContext, yard: YardClient, model: string): Promise<void> {
  const where = yard.server === undefined ? '' : `, on the server at ${yard.server.url}`
  await out.line(out.colors.dim(`${model}${where}. /help tells what you can do, Ctrl-D leaves.`))
}

async function completer(yard: YardClient): Promise<(line: string) => [string[], string]> {
  const listed = await yard.list().catch(() => [])
  const names = listed.flatMap(({ id, name, aliases }) => [...new Set([id, name, ...aliases])])
  return (line) => completeChatLine(line, names)
}

class ChatLoop {
  readonly #context: CommandContext
  readonly #editor: LineEditor
  readonly #session: ChatSession
  readonly #conversation: Conversation
  readonly #history: HistoryFile | undefined
  readonly #lines = new MessageLines()
  #interrupted = false

  constructor(
    context: CommandContext,
    editor: LineEditor,
    session: ChatSession,
    conversation: Conversation,
    history: HistoryFile | undefined,
  ) {
    this.#context = context
    this.#editor = editor
    this.#session = session
    this.#conversation = conversation
    this.#history = history
  }

  async run(): Promise<void> {
    for (;;) {
      const typed = await this.#editor.read(this.#prompt())
      this.#editor.hold()
      if (!(await this.#take(typed))) return
    }
  }

  #prompt(): string {
    const { colors } = this.#context.out
    return this.#lines.unfinished ? colors.dim('… ') : `${colors.cyan(this.#conversation.model)}> `
  }

  /** @returns false when the chat is over */
  async #take(typed: Typed): Promise<boolean> {
    if (typed.type === 'interrupt') return await this.#interrupt(typed.empty)
    this.#interrupted = false
    if (typed.type === 'end') return await this.#leave()
    await this.#history?.add(typed.text)
    const input = typed.pasted ? this.#lines.addPart(typed.text) : this.#lines.add(typed.text)
    if (input.type === 'command') return await this.#session.obey(input.name, input.argument)
    if (input.type === 'message') await this.#session.ask(input.text)
    return !this.#context.signal.aborted
  }

  /** Ctrl-C drops what was begun; at an empty prompt it leaves the second time. */
  async #interrupt(empty: boolean): Promise<boolean> {
    const nothingBegun = empty && !this.#lines.unfinished
    this.#lines.clear()
    if (nothingBegun && this.#interrupted) return false
    this.#interrupted = nothingBegun
    const { out } = this.#context
    if (nothingBegun) await out.line(out.colors.dim('Ctrl-C again leaves; so do Ctrl-D and /exit.'))
    return true
  }

  async #leave(): Promise<false> {
    if (this.#context.stdin.isTTY === true) await this.#context.out.line()
    return false
  }
}
